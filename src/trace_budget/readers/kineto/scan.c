/* Scans one segment of a Kineto trace, `[ {event}, {event}, ... ]`, and writes the events that matter as integers.
 *
 * The pure Python path decides what every event means; this file only does the plain ones faster. Two rules keep both
 * equal. It accepts no text that the Python path would refuse: grammar, escapes, surrogates and control characters are
 * checked as RFC 8259 has them, everywhere, and at the first doubt the whole segment is declined. And an event that is
 * not written in the plain way (a quoted number, a text as process id, a key twice, no category, ...) is not
 * interpreted: its place is noted, and the Python path reads that event.
 *
 * Input is hostile: `at` is compared with `size` before every read, every table has a capacity, nesting and probing
 * have limits, and nothing is allocated. No Python API: ctypes calls trace_budget_scan_kineto without the GIL.
 * TRACE_BUDGET_SCALAR leaves out SSE2. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__) && defined(__GNUC__) && !defined(TRACE_BUDGET_SCALAR)
#include <emmintrin.h>
#define WITH_SSE2 1
#endif

#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

#define BAD SIZE_MAX      /* the text is not what is allowed here */
#define UNKNOWN INT64_MIN /* a number that is absent or null; no plain number has this value */
#define DEEPEST 128       /* deeper nesting is left to the Python path, which knows its own limit */
#define LONGEST_PROBE 64  /* names made to collide must not cost more than the Python path */

/* What scan.py is told, in this order. */
enum { WHOLE, CLOSED_EARLY, DECLINED }; /* the array ends with the text; something follows it; do it in Python */
enum { STATE, ELEMENTS, ROWS, ODDS, TOKENS, STOP, KINDS_SEEN };
enum { KERNEL, MEMCPY, MEMSET, CALL, ANNOTATION, GPU_ANNOTATION, MODULE, SYNC, PLAIN, PYTHON, OPERATOR, IGNORED };
enum { ORDINAL, KIND, NAME_CODE, TS, DUR, PID, TID, FIRST_ARG }; /* a row; then the numbers of args, grid, block */

typedef struct {
  size_t start, stop; /* equal when absent */
} Span;

typedef struct {
  const char *text;
  size_t size;
} Word;

typedef struct {
  const uint8_t *text;
  size_t size;
  int64_t *rows, *odds, *tokens;
  uint32_t *slots;
  size_t row_room, odd_room, token_room, slot_mask;
  size_t row_count, odd_count, token_count, elements;
  int64_t kinds_seen;
} Scan;

#define WORD(text) {text, sizeof(text) - 1}

enum { PH, CAT, NAME, E_TS, E_DUR, E_PID, E_TID, ARGS, EVENT_KEYS };
static const Word event_keys[EVENT_KEYS] = {WORD("ph"),  WORD("cat"), WORD("name"), WORD("ts"),
                                            WORD("dur"), WORD("pid"), WORD("tid"),  WORD("args")};

enum { DEVICE, STREAM, QUEUE, CORRELATION, NODE, BYTES, WAIT_STREAM, WAIT_CORRELATION, GRID, BLOCK, ARG_COLUMNS };
enum { DISPATCH_KIND = ARG_COLUMNS, PROCESS_GROUP, ARG_KEYS };
static const Word arg_keys[ARG_KEYS] = {WORD("device"),
                                        WORD("stream"),
                                        WORD("hsa queue"),
                                        WORD("correlation"),
                                        WORD("graph node id"),
                                        WORD("bytes"),
                                        WORD("wait_on_stream"),
                                        WORD("wait_on_cuda_event_record_corr_id"),
                                        WORD("grid"),
                                        WORD("block"),
                                        WORD("kind"),
                                        WORD("Process Group Name")};
#define ROW_WIDTH (FIRST_ARG + ARG_COLUMNS)

#define BIT(key) (1u << (key))
#define OP_ARGS \
  (BIT(DEVICE) | BIT(STREAM) | BIT(QUEUE) | BIT(CORRELATION) | BIT(NODE) | BIT(BYTES) | BIT(GRID) | BIT(BLOCK) | \
   BIT(DISPATCH_KIND) | BIT(PROCESS_GROUP))
#define SYNC_ARGS (BIT(DEVICE) | BIT(STREAM) | BIT(CORRELATION) | BIT(WAIT_STREAM) | BIT(WAIT_CORRELATION))
/* Which arguments are asked for, by kind up to SYNC. */
static const unsigned asked_args[] = {OP_ARGS, OP_ARGS, OP_ARGS, BIT(CORRELATION), 0, 0, 0, SYNC_ARGS};

static const struct {
  Word word;
  int kind;
} categories[] = {
    {WORD("kernel"), KERNEL},       {WORD("concurrent_kernel"), KERNEL},
    {WORD("gpu_memcpy"), MEMCPY},   {WORD("memcpy"), MEMCPY},
    {WORD("gpu_memset"), MEMSET},   {WORD("memset"), MEMSET},
    {WORD("cuda_sync"), SYNC},      {WORD("cuda_event"), SYNC},
    {WORD("runtime"), CALL},        {WORD("driver"), CALL},
    {WORD("user_annotation"), ANNOTATION}, {WORD("gpu_user_annotation"), GPU_ANNOTATION},
    {WORD("python_function"), PYTHON},     {WORD("operator"), OPERATOR},
    {WORD("null"), PLAIN},          {WORD(""), PLAIN}};
#define LONGEST_CATEGORY 19

static const Word sync_names[] = {WORD("\"Stream Sync\""), WORD("\"Event Sync\""), WORD("\"Context Sync\""),
                                  WORD("\"Stream Wait Event\"")};

static size_t past_many_blanks(const Scan *s, size_t at) {
  while (at < s->size) {
    uint8_t c = s->text[at];
    if (c > ' ' || (c != ' ' && c != '\n' && c != '\r' && c != '\t')) return at;
    at++;
#ifdef WITH_SSE2 /* indentation: runs of blanks */
    while (s->size - at >= 16) {
      __m128i block = _mm_loadu_si128((const __m128i *)(s->text + at));
      unsigned others = 0xffffu ^ (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_set1_epi8(' ')));
      if (others) {
        at += (size_t)__builtin_ctz(others);
        break;
      }
      at += 16;
    }
#endif
  }
  return at;
}

static inline size_t past_blanks(const Scan *s, size_t at) { /* none and one are what is met most */
  if (at < s->size && s->text[at] > ' ') return at;
  if (s->size - at > 1 && s->text[at] == ' ' && s->text[at + 1] > ' ') return at + 1;
  return past_many_blanks(s, at);
}

static int hex_digits(const Scan *s, size_t at) { /* the value of four of them, or -1 */
  int value = 0;
  if (s->size - at < 4) return -1;
  for (size_t i = at; i < at + 4; i++) {
    uint8_t c = s->text[i], low = c | 0x20;
    if (c >= '0' && c <= '9') value = value * 16 + (c - '0');
    else if (low >= 'a' && low <= 'f') value = value * 16 + (low - 'a' + 10);
    else return -1;
  }
  return value;
}

static size_t past_escape(const Scan *s, size_t at) { /* `at` is behind the backslash */
  if (at >= s->size) return BAD;
  uint8_t c = s->text[at++];
  if (c == '"' || c == '\\' || c == '/' || c == 'b' || c == 'f' || c == 'n' || c == 'r' || c == 't') return at;
  if (c != 'u') return BAD;
  int unit = hex_digits(s, at);
  if (unit < 0 || (unit >= 0xdc00 && unit <= 0xdfff)) return BAD;
  at += 4;
  if (unit < 0xd800 || unit > 0xdbff) return at;
  if (s->size - at < 6 || s->text[at] != '\\' || s->text[at + 1] != 'u') return BAD;
  unit = hex_digits(s, at + 2);
  return unit >= 0xdc00 && unit <= 0xdfff ? at + 6 : BAD;
}

/* Steps over characters that neither end a string nor need a look; at most to its end, possibly not all of them. */
static size_t past_plain(const Scan *s, size_t at, unsigned *high) {
#ifdef WITH_SSE2
  while (s->size - at >= 16) {
    __m128i block = _mm_loadu_si128((const __m128i *)(s->text + at));
    __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(block, _mm_set1_epi8(0x1f)), block);
    __m128i quote = _mm_cmpeq_epi8(block, _mm_set1_epi8('"')), slash = _mm_cmpeq_epi8(block, _mm_set1_epi8('\\'));
    unsigned stops = (unsigned)_mm_movemask_epi8(_mm_or_si128(control, _mm_or_si128(quote, slash)));
    unsigned highs = (unsigned)_mm_movemask_epi8(block);
    if (stops) {
      unsigned place = (unsigned)__builtin_ctz(stops);
      *high |= highs & ((1u << place) - 1);
      return at + place;
    }
    *high |= highs;
    at += 16;
  }
#else
  (void)high; /* this way stops in front of such bytes */
  while (s->size - at >= 8) {
    const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
    uint64_t block;
    memcpy(&block, s->text + at, 8);
    uint64_t quote = block ^ (ones * '"'), slash = block ^ (ones * '\\');
    if ((((block - ones * 0x20) | (quote - ones) | (slash - ones)) & tops) || (block & tops)) break;
    at += 8;
  }
#endif
  return at;
}

/* From behind the opening quote to the closing one. `odd` is set by escapes and bytes that are not ASCII. */
static size_t string_end(const Scan *s, size_t at, int *odd) {
  unsigned high = 0;
  while (at < s->size) {
    at = past_plain(s, at, &high);
    if (at >= s->size) return BAD;
    uint8_t c = s->text[at];
    if (c == '"') {
      if (high) *odd = 1;
      return at;
    }
    if (c < 0x20) return BAD;
    high |= c & 0x80u;
    at++;
    if (c == '\\') {
      *odd = 1;
      at = past_escape(s, at);
    }
  }
  return BAD;
}

static size_t past_digits(const Scan *s, size_t at) { /* at least one */
  size_t start = at;
  while (at < s->size && (uint8_t)(s->text[at] - '0') < 10) at++;
  return at > start ? at : BAD;
}

static size_t past_number(const Scan *s, size_t at) {
  if (s->text[at] == '-') at++;
  if (at < s->size && s->text[at] == '0') at++; /* no digit may follow */
  else if ((at = past_digits(s, at)) == BAD) return BAD;
  if (at < s->size && s->text[at] == '.' && (at = past_digits(s, at + 1)) == BAD) return BAD;
  if (at < s->size && (s->text[at] | 0x20) == 'e') {
    at++;
    if (at < s->size && (s->text[at] == '+' || s->text[at] == '-')) at++;
    at = past_digits(s, at);
  }
  return at;
}

static int starts(const Scan *s, Span span, const char *text, size_t size) {
  return span.stop - span.start >= size && memcmp(s->text + span.start, text, size) == 0;
}

static int is(const Scan *s, Span span, Word word) {
  return span.stop - span.start == word.size && memcmp(s->text + span.start, word.text, word.size) == 0;
}

static size_t past_word(const Scan *s, size_t at, const char *text, size_t size) {
  return s->size - at >= size && memcmp(s->text + at, text, size) == 0 ? at + size : BAD;
}

static size_t past_object(const Scan *s, size_t at, int depth, const Word *keys, int key_count, Span *found, int *odd);
static size_t past_array(const Scan *s, size_t at, int depth);

static size_t past_value(const Scan *s, size_t at, int depth) {
  int ignored = 0;
  if (at >= s->size || depth > DEEPEST) return BAD;
  switch (s->text[at]) {
    case '"':
      at = string_end(s, at + 1, &ignored);
      return at == BAD ? BAD : at + 1;
    case '{':
      return past_object(s, at, depth, NULL, 0, NULL, &ignored);
    case '[':
      return past_array(s, at, depth);
    case 't':
      return past_word(s, at, "true", 4);
    case 'f':
      return past_word(s, at, "false", 5);
    case 'n':
      return past_word(s, at, "null", 4);
    case '-': case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
      return past_number(s, at);
    default:
      return BAD;
  }
}

static size_t past_array(const Scan *s, size_t at, int depth) {
  at = past_blanks(s, at + 1);
  if (at < s->size && s->text[at] == ']') return at + 1;
  for (;;) {
    at = past_value(s, at, depth + 1);
    if (at == BAD) return BAD;
    at = past_blanks(s, at);
    if (at >= s->size) return BAD;
    if (s->text[at] == ']') return at + 1;
    if (s->text[at] != ',') return BAD;
    at = past_blanks(s, at + 1);
  }
}

static inline void note_member(const Scan *s, Span key, Span value, const Word *keys, int key_count, Span *found, int *odd) {
  for (int i = 0; i < key_count; i++) {
    if (key.stop - key.start != keys[i].size || s->text[key.start] != (uint8_t)*keys[i].text) continue;
    if (!is(s, key, keys[i])) continue; /* called last: most keys are told apart by size and first letter */
    if (found[i].stop) *odd = 1; /* the same key twice: the last one counts, but every one must be valid */
    found[i] = value;
    return;
  }
}

/* `found[i]` becomes the value of `keys[i]`; `odd` is set where a key may be one of them in disguise, or comes twice. */
static size_t past_object(const Scan *s, size_t at, int depth, const Word *keys, int key_count, Span *found, int *odd) {
  int ignored = 0;
  at = past_blanks(s, at + 1);
  if (at < s->size && s->text[at] == '}') return at + 1;
  for (;;) {
    Span key, value;
    if (at >= s->size || s->text[at] != '"') return BAD;
    key.start = at + 1;
    key.stop = string_end(s, at + 1, keys ? odd : &ignored);
    if (key.stop == BAD) return BAD;
    at = past_blanks(s, key.stop + 1);
    if (at >= s->size || s->text[at] != ':') return BAD;
    value.start = past_blanks(s, at + 1);
    value.stop = past_value(s, value.start, depth + 1);
    if (value.stop == BAD) return BAD;
    if (keys) note_member(s, key, value, keys, key_count, found, odd);
    at = past_blanks(s, value.stop);
    if (at >= s->size) return BAD;
    if (s->text[at] == '}') return at + 1;
    if (s->text[at] != ',') return BAD;
    at = past_blanks(s, at + 1);
  }
}

static int is_null(const Scan *s, Span span) {
  return span.stop == span.start || (span.stop - span.start == 4 && s->text[span.start] == 'n');
}

/* An integer of at most 18 digits, UNKNOWN for null; 0 when it is written in another way. */
static int whole_number(const Scan *s, Span span, int64_t *number) {
  *number = UNKNOWN;
  if (is_null(s, span)) return 1;
  size_t at = span.start;
  int negative = s->text[at] == '-';
  at += (size_t)negative;
  if (at == span.stop || span.stop - at > 18) return 0;
  int64_t value = 0;
  for (; at < span.stop; at++) {
    uint8_t digit = (uint8_t)(s->text[at] - '0');
    if (digit > 9) return 0;
    value = value * 10 + digit;
  }
  *number = negative ? -value : value;
  return 1;
}

/* Microseconds as ns, half up at the fourth decimal; 0 for exponents, quotes and what is not below 3e15 us. */
static int nanoseconds(const Scan *s, Span span, int64_t *ns) {
  *ns = UNKNOWN;
  if (is_null(s, span)) return 1;
  size_t at = span.start;
  int negative = s->text[at] == '-', digits = 0, scale = 1000;
  at += (size_t)negative;
  int64_t whole = 0, decimals = 0;
  for (; at < span.stop && (uint8_t)(s->text[at] - '0') < 10; at++) {
    if (++digits > 16) return 0;
    whole = whole * 10 + (s->text[at] - '0');
  }
  if (!digits || whole >= 3000000000000000) return 0;
  if (at < span.stop && s->text[at] == '.')
    for (at++; at < span.stop && (uint8_t)(s->text[at] - '0') < 10; at++, scale /= 10)
      decimals += (s->text[at] - '0') * scale; /* from the fifth decimal on, scale is 0 */
  if (at != span.stop) return 0;
  *ns = whole * 1000 + (decimals + 5) / 10;
  if (negative) *ns = -*ns;
  return 1;
}

/* The kind a category stands for; -1 when it is no plain text. */
static int kind_of(const Scan *s, Span cat) {
  char word[LONGEST_CATEGORY];
  if (is_null(s, cat)) return PLAIN;
  size_t size = cat.stop - cat.start;
  if (size < 2 || s->text[cat.start] != '"') return -1;
  size -= 2;
  const uint8_t *text = s->text + cat.start + 1;
  char tail[8] = {0};
  for (size_t i = 0; i < size; i++) {
    uint8_t c = text[i];
    if (c == '\\' || c >= 0x80) return -1;
    if (c >= 'A' && c <= 'Z') c |= 0x20;
    if (i < LONGEST_CATEGORY) word[i] = (char)c;
    if (size - i <= 8) tail[8 - (size - i)] = (char)c;
  }
  if (size >= 8 && memcmp(tail, "_runtime", 8) == 0) return CALL;
  if (size >= 7 && memcmp(tail + 1, "_driver", 7) == 0) return CALL;
  if (size > LONGEST_CATEGORY) return IGNORED;
  for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
    if (categories[i].word.size == size && memcmp(categories[i].word.text, word, size) == 0) return categories[i].kind;
  return IGNORED;
}

/* The number of a text among the different ones of this segment; -1 when the table has no room. */
static int64_t code_of(Scan *s, Span span) {
  const uint8_t *text = s->text + span.start;
  size_t size = span.stop - span.start;
  uint64_t hash = size * 0x9e3779b97f4a7c15u, block;
  size_t at = 0;
  for (; size - at >= 8; at += 8) {
    memcpy(&block, text + at, 8);
    hash = (hash ^ block) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  block = 0;
  memcpy(&block, text + at, size - at);
  hash = (hash ^ block) * 0xff51afd7ed558ccdu;
  hash ^= hash >> 32;
  for (size_t probe = 0; probe < LONGEST_PROBE; probe++) {
    uint32_t *slot = &s->slots[(hash + probe) & s->slot_mask];
    if (*slot) {
      const int64_t *token = s->tokens + 2 * (size_t)(*slot - 1);
      if ((size_t)token[1] == size && memcmp(s->text + token[0], text, size) == 0) return *slot - 1;
      continue;
    }
    if (s->token_count >= s->token_room) return -1;
    s->tokens[2 * s->token_count] = (int64_t)span.start;
    s->tokens[2 * s->token_count + 1] = (int64_t)size;
    *slot = (uint32_t)++s->token_count;
    return *slot - 1;
  }
  return -1;
}

enum { OK, ODD, NO_ROOM };

/* Arguments of a row; what nobody asks for stays UNKNOWN. */
static int take_args(Scan *s, Span args, unsigned asked, int64_t *row) {
  Span found[ARG_KEYS];
  int odd = 0;
  memset(found, 0, sizeof found);
  for (int i = 0; i < ARG_COLUMNS; i++) row[FIRST_ARG + i] = UNKNOWN;
  if (!asked || is_null(s, args)) return OK;
  if (s->text[args.start] != '{') return ODD;
  if (past_object(s, args.start, 0, arg_keys, ARG_KEYS, found, &odd) == BAD || odd) return ODD;
  /* Collectives are few and have more to tell: the Python path reads them. */
  if ((asked & BIT(PROCESS_GROUP)) && !is_null(s, found[PROCESS_GROUP])) return ODD;
  for (int i = 0; i < GRID; i++)
    if ((asked & BIT(i)) && !whole_number(s, found[i], &row[FIRST_ARG + i])) return ODD;
  for (int i = GRID; i <= BLOCK; i++)
    if ((asked & BIT(i)) && !is_null(s, found[i]) && (row[FIRST_ARG + i] = code_of(s, found[i])) < 0) return NO_ROOM;
  if ((asked & BIT(DISPATCH_KIND)) && !is_null(s, found[DISPATCH_KIND])) s->kinds_seen = 1;
  return OK;
}

static int take_event(Scan *s, const Span *e) {
  static const Word complete = WORD("\"X\"");
  int kind = kind_of(s, e[CAT]), is_complete = is_null(s, e[PH]) || is(s, e[PH], complete);
  if (kind < 0) return ODD;
  if (kind == IGNORED || !is_complete) return OK;
  if (kind == PLAIN) return ODD;
  if (kind == PYTHON) {
    if (!starts(s, e[NAME], "\"nn.Module: ", 12)) return OK;
    kind = MODULE;
  }
  if (kind == OPERATOR) {
    if (!starts(s, e[NAME], "\"ProfilerStep#", 14)) return OK;
    kind = ANNOTATION;
  }
  if (e[NAME].stop == e[NAME].start || s->text[e[NAME].start] != '"') return ODD;
  if (kind == KERNEL)
    for (size_t i = 0; i < sizeof sync_names / sizeof *sync_names; i++)
      if (is(s, e[NAME], sync_names[i])) kind = SYNC;
  if (s->row_count >= s->row_room) return NO_ROOM;
  int64_t *row = s->rows + s->row_count * ROW_WIDTH;
  if (!nanoseconds(s, e[E_TS], &row[TS]) || !nanoseconds(s, e[E_DUR], &row[DUR])) return ODD;
  if (!whole_number(s, e[E_PID], &row[PID]) || !whole_number(s, e[E_TID], &row[TID])) return ODD;
  int taken = take_args(s, e[ARGS], asked_args[kind], row);
  if (taken != OK) return taken;
  if ((row[NAME_CODE] = code_of(s, e[NAME])) < 0) return NO_ROOM;
  row[ORDINAL] = (int64_t)s->elements;
  row[KIND] = kind;
  s->row_count++;
  return OK;
}

static int leave_to_python(Scan *s, size_t start, size_t stop) {
  if (s->odd_count >= s->odd_room) return NO_ROOM;
  int64_t *place = s->odds + 3 * s->odd_count++;
  place[0] = (int64_t)start;
  place[1] = (int64_t)stop;
  place[2] = (int64_t)s->elements;
  return OK;
}

/* One element of the array; where it ends, BAD when the segment is to be declined. */
static size_t past_element(Scan *s, size_t at) {
  Span found[EVENT_KEYS];
  int odd = 0, taken = ODD;
  size_t stop;
  memset(found, 0, sizeof found);
  if (at < s->size && s->text[at] == '{') {
    stop = past_object(s, at, 1, event_keys, EVENT_KEYS, found, &odd);
    if (stop == BAD) return BAD;
    if (!odd) taken = take_event(s, found);
  } else {
    stop = past_value(s, at, 1);
    if (stop == BAD) return BAD;
  }
  if (taken == ODD) taken = leave_to_python(s, at, stop);
  s->elements++;
  return taken == NO_ROOM ? BAD : stop;
}

/* The array at the start of the text; where it ends, BAD when the segment is to be declined. */
static size_t past_events(Scan *s) {
  if (s->size < 2 || s->text[0] != '[') return BAD;
  size_t at = past_blanks(s, 1);
  if (at < s->size && s->text[at] == ']') return at + 1;
  for (;;) {
    at = past_element(s, at);
    if (at == BAD) return BAD;
    at = past_blanks(s, at);
    if (at >= s->size) return BAD;
    if (s->text[at] == ']') return at + 1;
    if (s->text[at] != ',') return BAD;
    at = past_blanks(s, at + 1);
  }
}

/* Rooms are counts: of rows of ROW_WIDTH, of odd events (start, stop, ordinal), of texts (start, size), of slots for
 * those (a power of two). `told` takes 7 numbers. */
EXPORTED void trace_budget_scan_kineto(const uint8_t *text, size_t size, int64_t *rows, size_t row_room, int64_t *odds,
                                       size_t odd_room, int64_t *tokens, size_t token_room, uint32_t *slots,
                                       size_t slot_room, int64_t *told) {
  Scan s = {text, size, rows, odds, tokens, slots, row_room, odd_room, token_room, slot_room - 1, 0, 0, 0, 0, 0};
  memset(slots, 0, slot_room * sizeof *slots);
  size_t stop = past_events(&s);
  told[STATE] = stop == BAD ? DECLINED : past_blanks(&s, stop) == size ? WHOLE : CLOSED_EARLY;
  told[ELEMENTS] = (int64_t)s.elements;
  told[ROWS] = (int64_t)s.row_count;
  told[ODDS] = (int64_t)s.odd_count;
  told[TOKENS] = (int64_t)s.token_count;
  told[STOP] = stop == BAD ? 0 : (int64_t)stop;
  told[KINDS_SEEN] = s.kinds_seen;
}
