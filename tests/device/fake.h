/* A device without a device, for tests: memory, contexts, streams and copies as the documents of CUDA and HIP describe
 * them. fakecuda.c and fakehip.c give it the names of a driver.
 *
 * Device memory is a range of addresses that the processor may not touch; its bytes lie elsewhere. Work is queued, and
 * done late: after a random time, in any order of the streams, or only when somebody waits for it. Until then the place
 * where a copy will arrive has other bytes. Copies from pinned memory read it late; copies from pageable memory read it at
 * once, and return before they have arrived, as those of the real driver. What a program must not do, such as giving
 * pages back that a copy still uses, ends it with a message. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef unsigned long long u64;

enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, INVALID_DEVICE = 101, INVALID_CONTEXT = 201,
       ECC_UNCORRECTABLE = 214, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600, ILLEGAL_ADDRESS = 700,
       CONTEXT_IS_DESTROYED = 709, ALREADY_REGISTERED = 712, NOT_REGISTERED = 713, LAUNCH_FAILED = 719,
       NOT_SUPPORTED = 801 };

enum kind { DEVICE, MANAGED, PINNED, REGISTERED };
enum work { COPY, SET, KERNEL, DELAY, RECORD, WAIT_EVENT, RELEASE };
typedef void (*kernel)(void **, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned);

struct op;
struct context;
struct stream {
  struct context *context;
  int blocking, legacy, alive, wanted;
  struct op *first, *last;
  struct stream *next;
};
struct context {
  int device, alive, primary, retained, broken, wanted;
  unsigned flags;
  u64 id;
  struct stream legacy, per_thread;
  struct context *next;
};
struct range {
  uintptr_t at;
  size_t size, mapped;
  char *real;
  enum kind kind;
  int pooled, device;
  struct context *context;
  struct range *next;
};
struct event {
  u64 upto; /* All work of the stream up to this number. */
  struct stream *stream;
};
/* Rows: `width` bytes, `height` of them, `depth` times. */
struct rows {
  uintptr_t from, to;
  size_t from_pitch, to_pitch, from_slice, to_slice, width, height, depth;
};
struct op {
  enum work work;
  u64 number;
  struct stream *stream;
  double due, not_before;
  struct rows rows;
  char *staged;
  unsigned value, value_size;
  kernel run;
  unsigned grid[6];
  void **params;
  struct event event;
  struct op *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pid_t owner;
static u64 numbers, context_ids, random_state = 88172645463325252ull;
static struct range *ranges;
static struct stream *streams;
static struct context *contexts, *primary[16];
static struct op *running;
static int blocked; /* A stream that somebody waits for waits for another one. */
static __thread struct context *stack[64];
static __thread int depth;

/* Settings; 0 is no limit. */
static long devices = -1, register_piece, register_count, register_refused, pinned_refused, late;
static long planes_refused; /* 1: all, 2: those whose last plane is not whole in the memory. */
/* The version of ROCm, and 1 if the processor and the devices of HIP have one memory. */
static long rocm = 6, one_memory;
/* 1 if the devices of CUDA reach all memory of the host. */
static long pageable;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static u64 random_number(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  return random_state ^= random_state << 17;
}

static void wrong(const char *what) {
  fprintf(stderr, "fake device: %s\n", what);
  abort();
}

/* What a test sets and asks. */
struct named { char name[48]; int calls, at, code; };
static struct named names[128];

static struct named *named(const char *name) {
  for (int i = 0; i < 128; i++) {
    if (!names[i].name[0]) snprintf(names[i].name, sizeof names[i].name, "%s", name);
    if (!strcmp(names[i].name, name)) return &names[i];
  }
  return wrong("too many names"), NULL;
}

static struct { const char *name; long *value; } settings[] = {
  {"devices", &devices}, {"register_piece", &register_piece}, {"register_count", &register_count},
  {"register_refused", &register_refused}, {"pinned_refused", &pinned_refused}, {"late", &late},
  {"planes_refused", &planes_refused},
  {"rocm", &rocm}, {"one_memory", &one_memory}, {"pageable", &pageable}};

void fake_set(const char *name, long value) {
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
    if (!strcmp(name, settings[i].name)) { *settings[i].value = value; return; }
  wrong("no such setting");
}

static void from_environment(void) {
  static int done;
  if (done++) return;
  devices = 2;
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    char name[64] = "FAKE_";
    for (int k = 0; settings[i].name[k]; k++) name[5 + k] = settings[i].name[k] == '_' ? '_' : settings[i].name[k] - 32;
    if (getenv(name)) *settings[i].value = atol(getenv(name));
  }
  /* FAKE_FAIL=function:n:code,... */
  char all[1024], *rest = all, *one;
  snprintf(all, sizeof all, "%s", getenv("FAKE_FAIL") ? getenv("FAKE_FAIL") : "");
  while ((one = strsep(&rest, ","))) {
    char *name = strsep(&one, ":"), *n = strsep(&one, ":");
    if (one) { struct named *of = named(name); of->at = atoi(n); of->code = atoi(one); }
  }
}

/* The n-th call of a function from now on fails with a code; "work" is work of a stream when it is done. */
void fake_fail(const char *name, int n, int code) {
  pthread_mutex_lock(&lock);
  struct named *of = named(name);
  of->calls = 0; of->at = n; of->code = code;
  pthread_mutex_unlock(&lock);
}

/* Calls since the program began, or since fake_fail. */
int fake_calls(const char *name) {
  pthread_mutex_lock(&lock);
  int calls = named(name)->calls;
  pthread_mutex_unlock(&lock);
  return calls;
}

/* The names of all functions called, one a line, with the number of calls. */
void fake_called(char *to, size_t size) {
  size_t at = 0;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < 128 && names[i].name[0] && at < size; i++) at += snprintf(to + at, size - at, "%s %d\n", names[i].name, names[i].calls);
  pthread_mutex_unlock(&lock);
}

static int must_fail(const char *name) {
  struct named *of = named(name);
  of->calls++;
  return of->at && of->calls == of->at ? of->code : 0;
}

static int sticky(int code) { return code == ECC_UNCORRECTABLE || code == ILLEGAL_ADDRESS || code == LAUNCH_FAILED || code == 714; }

static struct context *current(void) { return depth ? stack[depth - 1] : NULL; }

static int leave(int code) {
  if (sticky(code) && current()) current()->broken = code;
  pthread_mutex_unlock(&lock);
  return code;
}

enum { ANY_TIME, STARTED, IN_CONTEXT };

static int check(const char *name, int needs) {
  from_environment();
  int code = must_fail(name);
  if (code) return code;
  if (needs >= STARTED && !owner) return NOT_INITIALIZED;
  if (needs < IN_CONTEXT) return OK;
  if (!current()) return INVALID_CONTEXT;
  if (!current()->alive) return CONTEXT_IS_DESTROYED;
  return current()->broken;
}

/* A process that was forked cannot use the device, nor the lock. */
#define ENTER(needs) \
  if (owner && getpid() != owner) return NOT_INITIALIZED; \
  pthread_mutex_lock(&lock); \
  { int code_ = check(__func__, needs); if (code_) return leave(code_); }

/* Memory. */
static struct range *find(uintptr_t at) {
  for (struct range *r = ranges; r; r = r->next) if (at >= r->at && at < r->at + r->size) return r;
  return NULL;
}

static char *real_of(uintptr_t at) {
  struct range *r = find(at);
  return r && r->kind == DEVICE ? r->real + (at - r->at) : (char *)at;
}

static struct range *new_range(uintptr_t at, size_t size, enum kind kind, struct context *context) {
  struct range *r = calloc(1, sizeof *r);
  *r = (struct range){.at = at, .size = size, .kind = kind, .context = context, .device = context ? context->device : 0, .next = ranges};
  return ranges = r;
}

static struct range *allocate(size_t size, enum kind kind, struct context *context) {
  size_t mapped = (size + 8191) & ~4095ull; /* A page behind it belongs to nothing. */
  char *at = mmap(NULL, mapped, kind == DEVICE ? PROT_NONE : PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  char *real = at;
  if (at == MAP_FAILED) return NULL;
  if (kind == DEVICE) real = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  else mprotect(at + mapped - 4096, 4096, PROT_NONE);
  if (real == MAP_FAILED) { munmap(at, mapped); return NULL; }
  struct range *r = new_range((uintptr_t)at, size, kind, context);
  r->real = real; r->mapped = mapped;
  return r;
}

static void forget(struct range *gone) {
  struct range **at = &ranges;
  while (*at != gone) at = &(*at)->next;
  *at = gone->next;
  if (gone->kind != REGISTERED) {
    munmap((void *)gone->at, gone->mapped);
    if (gone->kind == DEVICE) munmap(gone->real, gone->mapped);
  }
  free(gone);
}

/* Bytes that rows take, from the first to the last. */
static size_t extent(size_t pitch, size_t slice, const struct rows *r) { return (r->depth - 1) * slice + (r->height - 1) * pitch + r->width; }

static int overlap(uintptr_t a, size_t n, uintptr_t b, size_t m) { return a < b + m && b < a + n; }

static int uses(const struct op *op, uintptr_t at, size_t size) {
  if (op->work == KERNEL) return 1;
  if (op->work != COPY && op->work != SET) return 0;
  const struct rows *r = &op->rows;
  if (overlap(at, size, r->to, extent(r->to_pitch, r->to_slice, r))) return 1;
  return op->work == COPY && !op->staged && overlap(at, size, r->from, extent(r->from_pitch, r->from_slice, r));
}

static int in_use(uintptr_t at, size_t size) {
  if (running && uses(running, at, size)) return 1;
  for (struct stream *s = streams; s; s = s->next)
    for (struct op *op = s->first; op; op = op->next) if (uses(op, at, size)) return 1;
  return 0;
}

static int copied(uintptr_t at, size_t size) {
  for (struct stream *s = streams; s; s = s->next)
    for (struct op *op = s->first; op; op = op->next) if (op->work == COPY && uses(op, at, size)) return 1;
  return running && running->work == COPY && uses(running, at, size);
}

/* Work. */
static struct op *first_before(u64 number, struct context *context, int legacy) {
  for (struct stream *s = streams; s; s = s->next)
    if (s->context == context && s->first && s->first->number < number && (legacy ? s->legacy : s->blocking && !s->legacy)) return s->first;
  return NULL;
}

static int done_upto(const struct event *e) { return !e->stream || !e->stream->first || e->stream->first->number > e->upto; }

static int eligible(struct op *op) {
  if (op->work == WAIT_EVENT && !done_upto(&op->event)) return 0;
  if (op->stream->legacy) return !first_before(op->number, op->stream->context, 0);
  return !op->stream->blocking || !first_before(op->number, op->stream->context, 1);
}

static void copy_rows(const struct op *op) {
  const struct rows *r = &op->rows;
  char *to = real_of(r->to), *from = op->staged ? op->staged : real_of(r->from);
  for (size_t z = 0; z < r->depth; z++)
    for (size_t y = 0; y < r->height; y++) {
      char *row = to + z * r->to_slice + y * r->to_pitch;
      if (op->work == COPY) memmove(row, from + z * r->from_slice + y * r->from_pitch, r->width);
      else for (size_t x = 0; x < r->width; x += op->value_size) memcpy(row + x, &op->value, op->value_size);
    }
}

static void execute(struct op *op) {
  int code = must_fail("work");
  if (code) op->stream->context->broken = code;
  else if (op->stream->context->broken || !op->stream->context->alive) ;
  else if (op->work == COPY || op->work == SET) copy_rows(op);
  else if (op->work == RELEASE) { struct range *r = find(op->rows.to); if (r) forget(r); }
  else if (op->work == KERNEL) {
    for (int i = 0; op->params[i]; i++) { /* An address of the device becomes one that the processor can use. */
      uintptr_t at;
      memcpy(&at, op->params[i], 8);
      if (find(at)) { char *real = real_of(at); memcpy(op->params[i], &real, 8); }
    }
    pthread_mutex_unlock(&lock);
    op->run(op->params, op->grid[0], op->grid[1], op->grid[2], op->grid[3], op->grid[4], op->grid[5]);
    pthread_mutex_lock(&lock);
  }
  if (op->params) { for (int i = 0; op->params[i]; i++) free(op->params[i]); free(op->params); }
  free(op->staged);
}

/* Does one piece of work that may be done now. Returns the time until which nothing is to be done, or 0. */
static double work_once(void) {
  struct op *can[64];
  int count = 0, stuck = 0;
  double t = now(), next = t + 0.05;
  for (struct stream *s = streams; s; s = s->next) {
    struct op *op = s->first;
    if (!op || count == 64) continue;
    int wanted = s->wanted || s->context->wanted;
    if (!eligible(op)) { stuck |= wanted; continue; }
    double due = wanted || blocked ? op->not_before : op->due;
    if (due <= t) can[count++] = op;
    else if (due < next) next = due;
  }
  if (stuck && !blocked) { blocked = 1; return 0; }
  blocked = stuck;
  if (!count) return next;
  struct op *op = can[random_number() % count];
  running = op;
  execute(op);
  running = NULL;
  op->stream->first = op->next;
  if (!op->next) op->stream->last = NULL;
  free(op);
  pthread_cond_broadcast(&changed);
  return 0;
}

static void *worker(void *unused) {
  (void)unused;
  pthread_mutex_lock(&lock);
  for (;;) {
    double next = work_once();
    if (!next) continue;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    double at = t.tv_sec + t.tv_nsec * 1e-9 + next - now();
    t.tv_sec = (time_t)at;
    t.tv_nsec = (long)((at - (double)t.tv_sec) * 1e9);
    pthread_cond_timedwait(&changed, &lock, &t);
  }
  return NULL;
}

static void start(void) {
  if (owner) return;
  owner = getpid();
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_detach(thread);
}

static void enqueue(struct stream *stream, struct op o) {
  struct op *op = malloc(sizeof *op);
  *op = o;
  op->stream = stream;
  op->number = ++numbers;
  u64 when = random_number() % 3;
  op->due = late || when == 0 ? now() + 3600 : when == 1 ? 0 : now() + (random_number() % 2000) * 1e-6;
  if (op->not_before > op->due) op->due = op->not_before;
  op->next = NULL;
  if (stream->last) stream->last->next = op; else stream->first = op;
  stream->last = op;
  pthread_cond_broadcast(&changed);
}

static void wait_stream(struct stream *s) {
  u64 upto = numbers;
  s->wanted++;
  pthread_cond_broadcast(&changed);
  while (s->first && s->first->number <= upto) pthread_cond_wait(&changed, &lock);
  s->wanted--;
}

static void wait_context(struct context *c) {
  u64 upto = numbers;
  c->wanted++;
  pthread_cond_broadcast(&changed);
  for (int busy = 1; busy;) {
    busy = 0;
    for (struct stream *s = streams; s; s = s->next) busy |= s->context == c && s->first && s->first->number <= upto;
    if (busy) pthread_cond_wait(&changed, &lock);
  }
  c->wanted--;
}

/* Streams. */
static struct stream *stream_of(u64 handle) {
  if (handle == 0 || handle == 1) return current() ? &current()->legacy : NULL;
  if (handle == 2) return current() ? &current()->per_thread : NULL;
  for (struct stream *s = streams; s; s = s->next) if ((u64)(uintptr_t)s == handle && s->alive) return s;
  return NULL;
}

static void add_stream(struct stream *s, struct context *c, int blocking, int legacy) {
  *s = (struct stream){.context = c, .blocking = blocking, .legacy = legacy, .alive = 1, .next = streams};
  streams = s;
}

static struct context *new_context(int device, int is_primary, unsigned flags) {
  struct context *c = calloc(1, sizeof *c);
  *c = (struct context){.device = device, .alive = 1, .primary = is_primary, .flags = flags, .id = ++context_ids, .next = contexts};
  contexts = c;
  add_stream(&c->legacy, c, 1, 1);
  add_stream(&c->per_thread, c, 1, 0);
  return c;
}

static void end_context(struct context *c) {
  wait_context(c);
  c->alive = 0;
  for (struct stream *s = streams; s; s = s->next) if (s->context == c) s->alive = 0;
  for (struct range *r = ranges, *next; r; r = next) {
    next = r->next;
    if (r->context == c || (r->pooled && c->primary && r->device == c->device)) forget(r);
  }
}

/* Copies of rows by a stream. */
static int is_pageable(uintptr_t at) { return !find(at); }

static int inside(uintptr_t at, size_t size) {
  struct range *r = find(at);
  return !r || at + size <= r->at + r->size;
}

static int copy(u64 handle, struct rows r, int waits) {
  if (!r.width || !r.height || !r.depth) return OK;
  struct stream *s = stream_of(handle);
  if (!s) return INVALID_HANDLE;
  size_t from_size = extent(r.from_pitch, r.from_slice, &r), to_size = extent(r.to_pitch, r.to_slice, &r);
  if (!inside(r.from, from_size) || !inside(r.to, to_size)) return INVALID_VALUE;
  struct op op = {.work = COPY, .rows = r};
  if (is_pageable(r.from)) {
    op.staged = malloc(from_size);
    memcpy(op.staged, (char *)r.from, from_size);
  } else if (is_pageable(r.to)) waits = 1;
  char *to = real_of(r.to);
  if (!in_use(r.to, to_size) && !overlap(r.from, from_size, r.to, to_size))
    for (size_t z = 0; z < r.depth; z++)
      for (size_t y = 0; y < r.height; y++) memset(to + z * r.to_slice + y * r.to_pitch, 0xa5, r.width);
  enqueue(s, op);
  if (waits) { wait_stream(s); return s->context->broken; }
  return OK;
}

static struct rows line(uintptr_t to, uintptr_t from, size_t size) {
  return (struct rows){.from = from, .to = to, .width = size, .height = 1, .depth = 1};
}

static int set(u64 handle, u64 to, unsigned value, unsigned size, size_t count) {
  struct stream *s = stream_of(handle);
  if (!s) return INVALID_HANDLE;
  if (!find(to) || !inside(to, size * count)) return INVALID_VALUE;
  if (!count) return OK;
  enqueue(s, (struct op){.work = SET, .rows = line(to, 0, size * count), .value = value, .value_size = size});
  return OK;
}

/* A device address must be one of the device. */
static int known(u64 at, size_t size) { return !size || (find(at) && inside(at, size)); }

static int host_allocate(void **to, size_t size) {
  if (pinned_refused) return OUT_OF_MEMORY;
  if (!size) return INVALID_VALUE;
  struct range *r = allocate(size, PINNED, current());
  if (!r) return OUT_OF_MEMORY;
  *to = (void *)r->at;
  return OK;
}

static int host_free(void *at) {
  struct range *r = find((uintptr_t)at);
  if (!r || r->kind != PINNED || r->at != (uintptr_t)at) return INVALID_VALUE;
  if (copied(r->at, r->size)) wrong("pinned memory is freed while a copy uses it");
  forget(r);
  return OK;
}

static int host_register(void *at, size_t size) {
  long count = 0;
  if (!size) return INVALID_VALUE;
  for (struct range *r = ranges; r; r = r->next) {
    if (overlap(r->at, r->size, (uintptr_t)at, size)) return r->kind == DEVICE ? INVALID_VALUE : ALREADY_REGISTERED;
    count += r->kind == REGISTERED;
  }
  if (register_refused) return NOT_SUPPORTED;
  if (register_piece && size > (size_t)register_piece) return OUT_OF_MEMORY;
  if (register_count && count >= register_count) return OUT_OF_MEMORY;
  uintptr_t page = (uintptr_t)at & ~4095ull;
  if (msync((void *)page, (uintptr_t)at + size - page, MS_ASYNC)) return INVALID_VALUE;
  new_range((uintptr_t)at, size, REGISTERED, current());
  return OK;
}

static int host_unregister(void *at) {
  struct range *r = find((uintptr_t)at);
  if (!r || r->kind != REGISTERED || r->at != (uintptr_t)at) return NOT_REGISTERED;
  if (copied(r->at, r->size)) wrong("memory is unregistered while a copy uses it");
  if (msync((void *)(r->at & ~4095ull), r->size, MS_ASYNC)) wrong("registered pages were unmapped before they were unregistered");
  forget(r);
  return OK;
}

static int new_stream(u64 *to, int blocking) {
  struct stream *s = calloc(1, sizeof *s);
  add_stream(s, current(), blocking, 0);
  *to = (u64)(uintptr_t)s;
  return OK;
}

static int end_stream(u64 handle) {
  struct stream *s = stream_of(handle);
  if (!s || handle <= 2) return INVALID_HANDLE;
  s->alive = 0; /* What it has to do goes on. */
  return OK;
}

static int sync_stream(u64 handle) {
  struct stream *s = stream_of(handle);
  if (!s) return INVALID_HANDLE;
  wait_stream(s);
  return s->context->broken;
}

/* What a test asks. */
static int counted(enum kind kind) {
  int count = 0;
  pthread_mutex_lock(&lock);
  for (struct range *r = ranges; r; r = r->next) count += r->kind == kind;
  pthread_mutex_unlock(&lock);
  return count;
}
int fake_registered(void) { return counted(REGISTERED); }
int fake_pinned(void) { return counted(PINNED); }
int fake_depth(void) { return depth; }
void *fake_current(void) { return current(); }

/* Streams that the program has made and not destroyed. */
int fake_streams(void) {
  int count = 0;
  pthread_mutex_lock(&lock);
  for (struct stream *s = streams; s; s = s->next) count += s->alive && s != &s->context->legacy && s != &s->context->per_thread;
  pthread_mutex_unlock(&lock);
  return count;
}

/* Pieces of work that are not done. */
int fake_pending(void) {
  int count = 0;
  pthread_mutex_lock(&lock);
  for (struct stream *s = streams; s; s = s->next) for (struct op *op = s->first; op; op = op->next) count++;
  pthread_mutex_unlock(&lock);
  return count;
}

/* The bytes at an address of the device, where the processor finds them. What is queued is not waited for. */
void *fake_bytes(u64 at) {
  pthread_mutex_lock(&lock);
  void *real = real_of(at);
  pthread_mutex_unlock(&lock);
  return real;
}

/* Keeps a stream busy for a time, as a long kernel does. */
int fake_slow(u64 stream, long microseconds) {
  pthread_mutex_lock(&lock);
  struct stream *s = stream_of(stream);
  if (s) enqueue(s, (struct op){.work = DELAY, .not_before = now() + microseconds * 1e-6});
  return leave(s ? OK : INVALID_HANDLE);
}
