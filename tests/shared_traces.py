"""Where the real traces lie when they are present beside the checkout; tests that need them are skipped without."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared" / "traces"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the real traces are not beside this checkout")
