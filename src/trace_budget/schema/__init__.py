"""The declared tables, the Trace and the Report, and what a user can ask for."""
