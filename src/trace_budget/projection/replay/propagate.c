/* How far every op moves earlier: the three recursions of propagation.py, event by event, for rows of columns.
 *
 * propagation.py is the definition, and both must give the same doubles: the same sums in the same order, never a
 * fused one. The caller hands over arrays of its own; nothing is allocated here. `trace_budget_replay_check` looks at
 * every index once, so that the pass itself cannot leave them. No Python API: ctypes calls this without the GIL. */

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

enum { WAIT, LAUNCH, OP };
enum { LOW, EXPECTED, HIGH, BOUNDS };

typedef struct { /* lists of unequal length: those of item i are from[i] up to from[i + 1] */
  const int64_t *from, *index;
} Lists;

/* One stretch, as native.py lays it out; the order of the fields is that of its Structure. */
typedef struct {
  int64_t ops, columns, calls, threads;
  int64_t gap_max_ns, horizon_ns, return_ns, return_limit_ns, poll_ns, waits_visible;
  const int64_t *start, *end, *launch, *fifo, *order, *ends, *place, *ended, *near_from, *host_slack, *waited;
  const int64_t *launch_slack; /* of the expected causes */
  const uint8_t *known, *early, *host_may_hold, *anchored;
  const int64_t *launch_cap;
  Lists causes;
  const int64_t *cause_slack;
  Lists waits_on;
  const int64_t *call_start, *call_end, *thread, *own_op, *only_op;
  const double *freed[BOUNDS], *spare[BOUNDS]; /* host time that goes with a call; of a wait, that it only waits */
  Lists vanishing; /* index: the column */
  const int64_t *behind;
  Lists resting; /* index: the column */
  const double *rest_ns;
  const double *delta[BOUNDS];
  double *op_start[BOUNDS], *op_end[BOUNDS], *host[BOUNDS], *at_launch[BOUNDS];
  double *low_by_end, *high_by_end, *far, *highest, *scratch;
  int64_t far_to;
} Replay;

static double least(double a, double b) { return a < b ? a : b; }
static double most(double a, double b) { return a > b ? a : b; }
static int64_t positive(int64_t value) { return value > 0 ? value : 0; }

/* The number of sorted values that are smaller than `value` (or not larger, with `equal`). */
static int64_t count_below(const int64_t *values, int64_t size, int64_t value, int equal) {
  int64_t low = 0, high = size;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (values[middle] < value || (equal && values[middle] == value)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* The least shift that one of the first `last` ends can pass on to what it may have caused at `time`. */
static void lowest_before(Replay *r, int64_t time, int64_t width, int64_t last, double *out) {
  const int64_t columns = r->columns;
  while (r->far_to < last && r->ends[r->far_to] < time - r->horizon_ns && r->low_by_end[r->far_to * columns] < INFINITY) {
    const double *row = r->low_by_end + r->far_to * columns;
    for (int64_t c = 0; c < columns; c++) r->far[c] = least(r->far[c], row[c] - (double)r->ends[r->far_to]);
    r->far_to++;
  }
  const double before = (double)positive(time - r->start[0] - width);
  for (int64_t c = 0; c < columns; c++) out[c] = least(r->far[c] + (double)(time - width), before);
  for (int64_t end = r->far_to; end < last; end++) {
    const double slack = (double)positive(time - width - r->ends[end]), *row = r->low_by_end + end * columns;
    for (int64_t c = 0; c < columns; c++) out[c] = least(out[c], row[c] + slack);
  }
}

/* The largest shift of the ends first ... last; 0 when there is none. */
static int highest_near(const Replay *r, int64_t first, int64_t last, double *out) {
  const int64_t columns = r->columns;
  if (last <= first) return 0;
  for (int64_t c = 0; c < columns; c++) out[c] = -INFINITY;
  for (int64_t end = first; end < last; end++)
    for (int64_t c = 0; c < columns; c++) out[c] = most(out[c], r->high_by_end[end * columns + c]);
  return out[0] > -INFINITY;
}

static void low_op(Replay *r, int64_t op) {
  const int64_t columns = r->columns, call = r->launch[op], start = r->start[op];
  const double *launched = call >= 0 ? r->at_launch[LOW] + call * columns : NULL;
  double *out = r->op_start[LOW] + op * columns;
  int64_t slack = r->host_slack[op];
  if (r->known[op]) {
    for (int64_t c = 0; c < columns; c++) out[c] = launched ? launched[c] + (double)r->host_slack[op] : 0.0;
    const int64_t from = r->waits_on.from[op], to = r->waits_on.from[op + 1];
    for (int64_t i = from - 1; i < to; i++) {
      const int64_t before = i < from ? r->fifo[op] : r->waits_on.index[i];
      if (before < 0) continue;
      const int64_t behind = positive(start - r->end[before] - r->gap_max_ns);
      for (int64_t c = 0; c < columns; c++)
        out[c] = least(out[c], r->op_end[LOW][before * columns + c] + (double)behind);
      if (behind < slack) slack = behind;
    }
  } else {
    const int64_t last = r->ended[op], ended_ns = last ? r->ends[last - 1] : r->start[0];
    const int64_t behind = positive(start - ended_ns - r->gap_max_ns);
    if (behind < slack) slack = behind;
    lowest_before(r, start, r->gap_max_ns, last, out);
    for (int64_t c = 0; c < columns; c++)
      out[c] = least(out[c], launched ? launched[c] + (double)r->host_slack[op] : 0.0);
  }
  if (r->early[op]) {
    const double *ahead = r->op_start[LOW] + r->fifo[op] * columns;
    for (int64_t c = 0; c < columns; c++) out[c] = least(out[c], ahead[c]);
    slack = 0;
  }
  if (call >= 0)
    for (int64_t c = 0; c < columns; c++) out[c] -= (double)slack;
}

static void expected_op(Replay *r, int64_t op) {
  const int64_t columns = r->columns, call = r->launch[op], from = r->causes.from[op], to = r->causes.from[op + 1];
  double *out = r->op_start[EXPECTED] + op * columns;
  if (r->anchored[op] || (call < 0 && from == to)) return;
  for (int64_t c = 0; c < columns; c++)
    out[c] = call >= 0 ? r->at_launch[EXPECTED][call * columns + c] + (double)r->launch_slack[op] : INFINITY;
  for (int64_t i = from; i < to; i++) {
    const double *before = r->op_end[EXPECTED] + r->causes.index[i] * columns, slack = (double)r->cause_slack[i];
    for (int64_t c = 0; c < columns; c++) out[c] = least(out[c], before[c] + slack);
  }
}

static void raise(double *out, const double *row, int64_t columns, int *any) {
  for (int64_t c = 0; c < columns; c++) out[c] = *any ? most(out[c], row[c]) : row[c];
  *any = 1;
}

static void high_op(Replay *r, int64_t op) {
  const int64_t columns = r->columns, call = r->launch[op], fifo = r->fifo[op], start = r->start[op];
  double *out = r->op_start[HIGH] + op * columns;
  int any = 0;
  if (r->known[op]) {
    const int64_t from = r->waits_on.from[op], to = r->waits_on.from[op + 1];
    for (int64_t i = from - 1; i < to; i++) {
      const int64_t before = i < from ? fifo : r->waits_on.index[i];
      if (before >= 0 && start - r->end[before] <= r->gap_max_ns)
        raise(out, r->op_end[HIGH] + before * columns, columns, &any);
    }
  } else {
    any = highest_near(r, r->near_from[op], r->ended[op], out);
  }
  if (r->host_may_hold[op]) raise(out, r->at_launch[HIGH] + call * columns, columns, &any);
  if (r->early[op]) {
    raise(out, r->op_start[HIGH] + fifo * columns, columns, &any);
    raise(out, r->op_end[HIGH] + fifo * columns, columns, &any);
  }
  if (!any) raise(out, r->highest, columns, &any);
  if (fifo >= 0 && !r->early[op]) {
    const double *before = r->op_end[HIGH] + fifo * columns, behind = (double)(start - r->end[fifo]);
    for (int64_t c = 0; c < columns; c++) out[c] = least(out[c], before[c] + behind);
  }
  if (call >= 0) {
    const double *launched = r->at_launch[HIGH] + call * columns, since = (double)r->launch_cap[op];
    for (int64_t c = 0; c < columns; c++) out[c] = least(out[c], launched[c] + since);
  }
}

/* Start shifts of one op; `scratch` takes what they do to its end before its own saving: low, expected, high. */
static void begin(Replay *r, int64_t op) {
  const int64_t columns = r->columns;
  low_op(r, op);
  expected_op(r, op);
  high_op(r, op);
  for (int b = 0; b < BOUNDS; b++) {
    const double *shift = r->op_start[b] + op * columns;
    for (int64_t c = 0; c < columns; c++) {
      double value = shift[c];
      if (r->early[op]) {
        const double ahead = r->op_end[b][r->fifo[op] * columns + c];
        value = b == HIGH ? most(value, ahead) : least(value, ahead);
      }
      r->scratch[b * columns + c] = value;
    }
  }
}

/* End shifts of one op: what moved it (in `scratch`), plus its own saving. */
static void finish(Replay *r, int64_t op) {
  const int64_t columns = r->columns, place = r->place[op] * columns;
  for (int b = 0; b < BOUNDS; b++) {
    double *end = r->op_end[b] + op * columns;
    for (int64_t c = 0; c < columns; c++) end[c] = r->scratch[b * columns + c] + r->delta[b][op * columns + c];
    for (int64_t i = r->vanishing.from[op]; i < r->vanishing.from[op + 1]; i++) {
      const int64_t before = r->behind[i], c = r->vanishing.index[i];
      end[c] = r->op_end[b][before * columns + c] + (double)(r->end[op] - r->end[before]);
    }
    if (b == EXPECTED) continue;
    double *row = (b == LOW ? r->low_by_end : r->high_by_end) + place;
    for (int64_t c = 0; c < columns; c++) row[c] = end[c];
    for (int64_t i = r->resting.from[op]; i < r->resting.from[op + 1]; i++) row[r->resting.index[i]] += r->rest_ns[i];
  }
  for (int64_t c = 0; c < columns; c++) r->highest[c] = most(r->highest[c], r->op_end[HIGH][op * columns + c]);
}

/* When a collective ends depends on ranks this trace does not show. */
static void alone(Replay *r, int64_t op) {
  const int64_t columns = r->columns;
  const double waited = (double)r->waited[op], transfer = (double)(r->end[op] - r->start[op]) - waited;
  double *low = r->scratch, *expected = low + columns, *high = expected + columns;
  for (int64_t c = 0; c < columns; c++) {
    low[c] = least(low[c], 0.0) - most(r->delta[LOW][op * columns + c], 0.0);
    expected[c] -= most(r->delta[EXPECTED][op * columns + c] - transfer, 0.0);
    high[c] = least(most(high[c], r->highest[c]), high[c] + waited);
  }
}

static void launch(Replay *r, int64_t call) {
  const int64_t columns = r->columns, thread = r->thread[call], op = r->only_op[call];
  for (int b = 0; b < BOUNDS; b++)
    for (int64_t c = 0; c < columns; c++) r->at_launch[b][call * columns + c] = r->host[b][thread * columns + c];
  if (op >= 0) {
    for (int64_t i = r->vanishing.from[op]; i < r->vanishing.from[op + 1]; i++)
      for (int b = 0; b < BOUNDS; b++)
        r->host[b][thread * columns + r->vanishing.index[i]] += r->freed[b][call];
  }
  double *high = r->at_launch[HIGH] + call * columns;
  for (int64_t c = 0; c < columns; c++) {
    high[c] = r->host[HIGH][c];
    for (int64_t t = 1; t < r->threads; t++) high[c] = most(high[c], r->host[HIGH][t * columns + c]);
    if (!r->waits_visible) high[c] = most(high[c], r->highest[c]);
  }
}

/* The op whose end let a wait return: the last one that ended while the host was waiting; -1 for none. */
static int64_t last_end(const Replay *r, int64_t call, int64_t entered, int64_t returned, int64_t ended) {
  const int64_t own = r->own_op[call];
  if (own >= 0) return entered < r->end[own] && r->end[own] <= returned ? own : -1;
  if (ended < 1 || r->ends[ended - 1] <= entered || returned - r->ends[ended - 1] > r->return_limit_ns) return -1;
  return r->order[ended - 1];
}

static void wait(Replay *r, int64_t call) {
  const int64_t columns = r->columns, entered = r->call_start[call], returned = r->call_end[call];
  const int64_t ended = count_below(r->ends, r->ops, returned, 1);
  const int64_t last = last_end(r, call, entered, returned, ended);
  if (last < 0) return;
  const int64_t blocked = returned - entered, thread = r->thread[call] * columns;
  const double late = (double)positive(returned - r->end[last] - r->return_ns);
  lowest_before(r, returned, r->return_ns, ended, r->scratch);
  double *low = r->host[LOW] + thread, *expected = r->host[EXPECTED] + thread, *high = r->host[HIGH] + thread;
  for (int64_t c = 0; c < columns; c++) {
    low[c] = least(low[c] + r->spare[LOW][call], r->scratch[c] - late);
    expected[c] = least(expected[c] + r->spare[EXPECTED][call], r->op_end[EXPECTED][last * columns + c]);
  }
  const int64_t first = count_below(r->ends, r->ops, returned - r->return_ns, 0);
  const int near = highest_near(r, first, ended, r->scratch);
  for (int64_t c = 0; c < columns; c++) {
    double highest = near ? r->scratch[c] : high[c];
    if (blocked <= r->poll_ns) highest = most(highest, high[c]);
    high[c] = least(high[c] + r->spare[HIGH][call], highest);
  }
}

static int inside(int64_t value, int64_t least_value, int64_t size) { return value >= least_value && value < size; }

static int good_lists(Lists lists, int64_t items, int64_t size) {
  if (lists.from[0] != 0) return 0;
  for (int64_t i = 0; i < items; i++)
    if (lists.from[i + 1] < lists.from[i]) return 0;
  for (int64_t i = 0; i < lists.from[items]; i++)
    if (!inside(lists.index[i], 0, size)) return 0;
  return 1;
}

/* The size of the struct above: a library of another version must not be handed this one. */
EXPORTED size_t trace_budget_replay_size(void) { return sizeof(Replay); }

/* Whether every index of the stretch and of its events lies inside its arrays. */
EXPORTED int trace_budget_replay_check(const Replay *r, const uint8_t *kinds, const int64_t *index, int64_t events) {
  if (r->ops < 1 || r->columns < 1 || r->threads < 1 || r->calls < 0) return 0;
  for (int64_t op = 0; op < r->ops; op++) {
    if (!inside(r->launch[op], -1, r->calls) || !inside(r->fifo[op], -1, r->ops)) return 0;
    if (!inside(r->order[op], 0, r->ops) || !inside(r->place[op], 0, r->ops)) return 0;
    if (!inside(r->ended[op], 0, r->ops + 1) || !inside(r->near_from[op], 0, r->ops + 1)) return 0;
    if ((r->early[op] && r->fifo[op] < 0) || (r->host_may_hold[op] && r->launch[op] < 0)) return 0;
  }
  for (int64_t call = 0; call < r->calls; call++) {
    if (!inside(r->thread[call], 0, r->threads) || !inside(r->own_op[call], -1, r->ops)) return 0;
    if (!inside(r->only_op[call], -1, r->ops)) return 0;
  }
  if (!good_lists(r->causes, r->ops, r->ops) || !good_lists(r->waits_on, r->ops, r->ops)) return 0;
  if (!good_lists(r->vanishing, r->ops, r->columns) || !good_lists(r->resting, r->ops, r->columns)) return 0;
  for (int64_t i = 0; i < r->vanishing.from[r->ops]; i++)
    if (!inside(r->behind[i], 0, r->ops)) return 0;
  for (int64_t i = 0; i < events; i++)
    if (kinds[i] > OP || !inside(index[i], 0, kinds[i] == OP ? r->ops : r->calls)) return 0;
  return 1;
}

/* Take events in order. */
EXPORTED void trace_budget_replay_run(Replay *r, const uint8_t *kinds, const int64_t *index, int64_t events) {
  for (int64_t i = 0; i < events; i++) {
    if (kinds[i] == LAUNCH) launch(r, index[i]);
    else if (kinds[i] == WAIT) wait(r, index[i]);
    else {
      begin(r, index[i]);
      if (r->waited[index[i]] >= 0) alone(r, index[i]);
      finish(r, index[i]);
    }
  }
}

/* The two halves of one op, for collectives that several ranks finish together. */
EXPORTED void trace_budget_replay_begin(Replay *r, int64_t op) { begin(r, op); }
EXPORTED void trace_budget_replay_finish(Replay *r, int64_t op) { finish(r, op); }
