/* libcuda.so.1 without a device: cc -shared -fPIC -o libcuda.so.1 -Wl,-soname,libcuda.so.1 fakecuda.c -lpthread -ldl
 * See fake.h. With -DOLD it has no functions that are newer than those that are needed. A kernel NAME is the function fake_kernel_NAME of the program, or one that fake_kernel names. */
#include "planes.h"

typedef int CUresult;
typedef u64 CUdeviceptr;
typedef struct { size_t sx, sy; int st; const void *sh; u64 sd; void *sa; size_t sp; size_t dx, dy; int dt; void *dh; u64 dd; void *da; size_t dp; size_t w, h; } copy2d;
typedef struct { size_t sx, sy, sz, sl; int st; const void *sh; u64 sd; void *sa, *s0; size_t sp, shh; size_t dx, dy, dz, dl; int dt; void *dh; u64 dd; void *da, *d0; size_t dp, dhh; size_t w, h, d; } copy3d;

CUresult cuInit(unsigned flags) {
  ENTER(ANY_TIME);
  if (flags) return leave(INVALID_VALUE);
  if (!devices) return leave(100); /* No device. */
  start();
  return leave(OK);
}
CUresult cuDriverGetVersion(int *version) { ENTER(ANY_TIME); *version = 12040; return leave(OK); }
CUresult cuDeviceGetCount(int *count) { ENTER(STARTED); *count = (int)devices; return leave(OK); }
CUresult cuDeviceGet(int *device, int ordinal) {
  ENTER(STARTED);
  if (ordinal < 0 || ordinal >= devices) return leave(INVALID_DEVICE);
  *device = ordinal;
  return leave(OK);
}
CUresult cuDeviceGetName(char *name, int size, int device) { ENTER(STARTED); snprintf(name, size, "Fake device %d", device); return leave(OK); }
CUresult cuDeviceGetAttribute(int *value, int attribute, int device) {
  ENTER(STARTED);
  if (device < 0 || device >= devices) return leave(INVALID_DEVICE);
  *value = attribute == 11 ? 2147483647 : attribute == 41 ? 1 : attribute == 75 ? 9 : attribute == 88 ? pageable : 0;
  return leave(OK);
}

/* Contexts. */
CUresult cuDevicePrimaryCtxRetain(void **context, int device) {
  ENTER(STARTED);
  if (device < 0 || device >= devices || device >= 16) return leave(INVALID_DEVICE);
  struct context *c = primary[device];
  if (!c || !c->alive) c = primary[device] = new_context(device, 1, 0);
  c->retained++;
  *context = c;
  return leave(OK);
}
static int release_primary(int device, int all) {
  if (device < 0 || device >= devices || device >= 16) return INVALID_DEVICE;
  struct context *c = primary[device];
  if (!c || !c->alive || !c->retained) return INVALID_CONTEXT;
  c->retained = all ? 0 : c->retained - 1;
  if (!c->retained) end_context(c);
  return OK;
}
CUresult cuDevicePrimaryCtxRelease_v2(int device) { ENTER(STARTED); return leave(release_primary(device, 0)); }
CUresult cuDevicePrimaryCtxReset_v2(int device) { ENTER(STARTED); return leave(release_primary(device, 1)); }
CUresult cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
  ENTER(STARTED);
  if (device < 0 || device >= devices || device >= 16) return leave(INVALID_DEVICE);
  *flags = 0;
  *active = primary[device] && primary[device]->alive;
  return leave(OK);
}
static int push(struct context *c) {
  if (!c || depth == 64) return INVALID_CONTEXT;
  for (struct context *o = contexts; o; o = o->next)
    if (o == c) { if (!c->alive) return INVALID_CONTEXT; stack[depth++] = c; return OK; }
  return INVALID_CONTEXT;
}
CUresult cuCtxCreate_v2(void **context, unsigned flags, int device) {
  ENTER(STARTED);
  if (device < 0 || device >= devices) return leave(INVALID_DEVICE);
  *context = new_context(device, 0, flags);
  return leave(push(*context));
}
CUresult cuCtxDestroy_v2(void *context) {
  ENTER(STARTED);
  struct context *c = context;
  if (!c || !c->alive || c->primary) return leave(INVALID_CONTEXT);
  end_context(c);
  if (current() == c) depth--;
  return leave(OK);
}
CUresult cuCtxPushCurrent_v2(void *context) { ENTER(STARTED); return leave(push(context)); }
CUresult cuCtxPopCurrent_v2(void **context) {
  ENTER(STARTED);
  if (!depth) return leave(INVALID_CONTEXT);
  depth--;
  if (context) *context = stack[depth];
  return leave(OK);
}
CUresult cuCtxGetCurrent(void **context) { ENTER(STARTED); *context = current(); return leave(OK); }
CUresult cuCtxSetCurrent(void *context) {
  ENTER(STARTED);
  if (depth) depth--;
  return leave(context ? push(context) : OK);
}
CUresult cuCtxGetDevice(int *device) { ENTER(IN_CONTEXT); *device = current()->device; return leave(OK); }
CUresult cuCtxGetId(void *context, u64 *id) {
  ENTER(STARTED);
  struct context *c = context ? context : current();
  if (!c || !c->alive) return leave(INVALID_CONTEXT);
  *id = c->id;
  return leave(OK);
}
CUresult cuCtxSynchronize(void) {
  ENTER(IN_CONTEXT);
  struct context *c = current();
  wait_context(c);
  return leave(c->broken);
}

/* Memory. */
static int new_memory(u64 *to, size_t size, enum kind kind) {
  if (!size) return INVALID_VALUE;
  if (size > 1ull << 40) return OUT_OF_MEMORY;
  struct range *r = allocate(size, kind, current());
  if (!r) return OUT_OF_MEMORY;
  *to = r->at;
  return OK;
}
CUresult cuMemAlloc_v2(CUdeviceptr *to, size_t size) { ENTER(IN_CONTEXT); return leave(new_memory(to, size, DEVICE)); }
CUresult cuMemAllocPitch_v2(CUdeviceptr *to, size_t *pitch, size_t width, size_t height, unsigned element) {
  ENTER(IN_CONTEXT);
  (void)element;
  *pitch = (width + 511) & ~511ull;
  return leave(new_memory(to, *pitch * height, DEVICE));
}
CUresult cuMemAllocManaged(CUdeviceptr *to, size_t size, unsigned flags) { ENTER(IN_CONTEXT); (void)flags; return leave(new_memory(to, size, MANAGED)); }
CUresult cuMemAllocAsync(CUdeviceptr *to, size_t size, void *stream) {
  ENTER(IN_CONTEXT);
  struct stream *s = stream_of((u64)(uintptr_t)stream);
  if (!s) return leave(INVALID_HANDLE);
  int code = new_memory(to, size, DEVICE);
  if (!code) { ranges->pooled = 1; ranges->context = NULL; ranges->device = s->context->device; }
  return leave(code);
}
CUresult cuMemFreeAsync(CUdeviceptr at, void *stream) {
  ENTER(IN_CONTEXT);
  struct stream *s = stream_of((u64)(uintptr_t)stream);
  struct range *r = find(at);
  if (!s) return leave(INVALID_HANDLE);
  if (!r || r->at != at) return leave(INVALID_VALUE);
  enqueue(s, (struct op){.work = RELEASE, .rows = line(at, 0, 1)});
  return leave(OK);
}
CUresult cuMemFree_v2(CUdeviceptr at) {
  ENTER(IN_CONTEXT);
  struct range *r = find(at);
  if (!at) return leave(OK);
  if (!r || r->at != at || r->kind > MANAGED) return leave(INVALID_VALUE);
  wait_context(r->context ? r->context : current());
  if (find(at) == r) forget(r);
  return leave(OK);
}
CUresult cuMemGetInfo_v2(size_t *free, size_t *total) { ENTER(IN_CONTEXT); *free = *total = 8ull << 30; return leave(OK); }
CUresult cuMemHostAlloc(void **to, size_t size, unsigned flags) { ENTER(IN_CONTEXT); (void)flags; return leave(host_allocate(to, size)); }
CUresult cuMemAllocHost_v2(void **to, size_t size) { ENTER(IN_CONTEXT); return leave(host_allocate(to, size)); }
CUresult cuMemFreeHost(void *at) { ENTER(IN_CONTEXT); return leave(host_free(at)); }
CUresult cuMemHostRegister_v2(void *at, size_t size, unsigned flags) { ENTER(IN_CONTEXT); (void)flags; return leave(host_register(at, size)); }
CUresult cuMemHostUnregister(void *at) { ENTER(IN_CONTEXT); return leave(host_unregister(at)); }
CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr at) {
  ENTER(STARTED);
  struct range *r = find(at);
  if (!r) return leave(NOT_FOUND);
  if (base) *base = r->at;
  if (size) *size = r->size;
  return leave(OK);
}
static int attribute(void *to, int which, struct range *r) {
  switch (which) {
    case 1: *(void **)to = r->context; return OK;
    case 2: *(unsigned *)to = r->kind <= MANAGED ? 2 : 1; return OK;
    case 3: case 4:
      if (which == 4 && r->kind == DEVICE) return INVALID_VALUE;
      *(u64 *)to = r->at;
      return OK;
    case 8: *(unsigned char *)to = r->kind == MANAGED; return OK; /* One byte, as the driver. */
    case 9: *(int *)to = r->device; return OK;
    case 11: *(u64 *)to = r->at; return OK;
    case 12: *(size_t *)to = r->size; return OK;
    case 17: *(void **)to = r->pooled ? (void *)0x1000 : NULL; return OK;
    default: return INVALID_VALUE;
  }
}
CUresult cuPointerGetAttribute(void *to, int which, CUdeviceptr at) {
  ENTER(STARTED);
  struct range *r = find(at);
  return leave(r ? attribute(to, which, r) : INVALID_VALUE);
}
/* Zeros for what is not known. */
CUresult cuPointerGetAttributes(unsigned count, int *which, void **to, CUdeviceptr at) {
  ENTER(STARTED);
  struct range *r = find(at);
  for (unsigned i = 0; i < count; i++) {
    size_t size = which[i] == 8 ? 1 : which[i] == 2 || which[i] == 9 ? 4 : 8;
    memset(to[i], which[i] == 9 ? 0xfe : 0, size);
    if (r) attribute(to[i], which[i], r);
  }
  return leave(OK);
}

/* Streams and events. */
CUresult cuStreamCreate(u64 *to, unsigned flags) { ENTER(IN_CONTEXT); return leave(new_stream(to, !(flags & 1))); }
CUresult cuStreamCreateWithPriority(u64 *to, unsigned flags, int priority) { ENTER(IN_CONTEXT); (void)priority; return leave(new_stream(to, !(flags & 1))); }
CUresult cuStreamDestroy_v2(u64 stream) { ENTER(STARTED); return leave(end_stream(stream)); }
CUresult cuStreamSynchronize(u64 stream) { ENTER(STARTED); return leave(sync_stream(stream)); }
CUresult cuStreamQuery(u64 stream) {
  ENTER(STARTED);
  struct stream *s = stream_of(stream);
  if (!s) return leave(INVALID_HANDLE);
  for (struct op *op = s->first; op; op = op->next) op->due = op->not_before; /* Who asks again and again sees an end. */
  return leave(s->first ? NOT_READY : s->context->broken);
}
#ifndef OLD
CUresult cuStreamGetCtx(u64 stream, void **context) {
  ENTER(STARTED);
  struct stream *s = stream_of(stream);
  if (!s) return leave(INVALID_HANDLE);
  *context = s->context;
  return leave(OK);
}
#endif
CUresult cuEventCreate(struct event **to, unsigned flags) { ENTER(IN_CONTEXT); (void)flags; *to = calloc(1, sizeof **to); return leave(OK); }
CUresult cuEventDestroy_v2(struct event *event) { ENTER(STARTED); free(event); return leave(OK); }
CUresult cuEventRecord(struct event *event, u64 stream) {
  ENTER(STARTED);
  struct stream *s = stream_of(stream);
  if (!s) return leave(INVALID_HANDLE);
  enqueue(s, (struct op){.work = RECORD});
  *event = (struct event){numbers, s};
  return leave(OK);
}
CUresult cuEventQuery(struct event *event) {
  ENTER(STARTED);
  if (done_upto(event)) return leave(event->stream ? event->stream->context->broken : OK);
  for (struct op *op = event->stream->first; op; op = op->next) op->due = op->not_before;
  return leave(NOT_READY);
}
CUresult cuEventSynchronize(struct event *event) {
  ENTER(STARTED);
  if (!event->stream) return leave(OK);
  event->stream->wanted++;
  pthread_cond_broadcast(&changed);
  while (!done_upto(event)) pthread_cond_wait(&changed, &lock);
  event->stream->wanted--;
  return leave(event->stream->context->broken);
}
CUresult cuStreamWaitEvent(u64 stream, struct event *event, unsigned flags) {
  ENTER(STARTED);
  (void)flags;
  struct stream *s = stream_of(stream);
  if (!s) return leave(INVALID_HANDLE);
  enqueue(s, (struct op){.work = WAIT_EVENT, .event = *event});
  return leave(OK);
}

/* Copies. */
static int down(void *to, u64 from, size_t size, u64 stream, int waits) {
  if (!known(from, size)) return INVALID_VALUE;
  return copy(stream, line((uintptr_t)to, from, size), waits);
}
static int up(u64 to, const void *from, size_t size, u64 stream, int waits) {
  if (!known(to, size)) return INVALID_VALUE;
  return copy(stream, line(to, (uintptr_t)from, size), waits);
}
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, u64 stream) { ENTER(IN_CONTEXT); return leave(down(to, from, size, stream, 0)); }
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size, u64 stream) { ENTER(IN_CONTEXT); return leave(up(to, from, size, stream, 0)); }
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size) { ENTER(IN_CONTEXT); return leave(down(to, from, size, 0, 1)); }
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size) { ENTER(IN_CONTEXT); return leave(up(to, from, size, 0, !is_pageable((uintptr_t)from))); }
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, u64 stream) {
  ENTER(IN_CONTEXT);
  if (!known(from, size)) return leave(INVALID_VALUE);
  return leave(up(to, (void *)(uintptr_t)from, size, stream, 0));
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t size) {
  ENTER(IN_CONTEXT);
  if (!known(from, size)) return leave(INVALID_VALUE);
  return leave(up(to, (void *)(uintptr_t)from, size, 0, 0));
}
CUresult cuMemcpyAsync(u64 to, u64 from, size_t size, u64 stream) { ENTER(IN_CONTEXT); return leave(copy(stream, line(to, from, size), 0)); }
CUresult cuMemcpy(u64 to, u64 from, size_t size) { ENTER(IN_CONTEXT); return leave(copy(0, line(to, from, size), 1)); }

static u64 side(int type, const void *host, u64 device) { return type == 1 ? (u64)(uintptr_t)host : device; }
static int boxes(struct rows r, int from_type, int to_type, u64 stream, int waits) {
  if (!r.width || !r.height || !r.depth) return OK;
  const size_t most = 2147483647;
  if (r.height > 1 && (r.from_pitch < r.width || r.to_pitch < r.width)) return INVALID_VALUE;
  if (r.from_pitch > most || r.to_pitch > most) return INVALID_VALUE;
  if (from_type == 2 && !known(r.from, extent(r.from_pitch, r.from_slice, &r))) return INVALID_VALUE;
  if (to_type == 2 && !known(r.to, extent(r.to_pitch, r.to_slice, &r))) return INVALID_VALUE;
  if (from_type == 3 || to_type == 3 || !from_type || !to_type) return INVALID_VALUE;
  return copy(stream, r, waits);
}
static int box2(const copy2d *c, u64 stream, int waits) {
  struct rows r = {.from = side(c->st, c->sh, c->sd) + c->sy * c->sp + c->sx, .to = side(c->dt, c->dh, c->dd) + c->dy * c->dp + c->dx,
                   .from_pitch = c->sp, .to_pitch = c->dp, .width = c->w, .height = c->h, .depth = 1};
  return boxes(r, c->st, c->dt, stream, waits);
}
CUresult cuMemcpy2DAsync_v2(const copy2d *c, u64 stream) { ENTER(IN_CONTEXT); return leave(box2(c, stream, 0)); }
CUresult cuMemcpy2D_v2(const copy2d *c) { ENTER(IN_CONTEXT); return leave(box2(c, 0, 1)); }
#ifndef OLD
/* Ours does not ask for copies that are wrong, so such a copy ends the program. */
CUresult cuMemcpy3DAsync_v2(const copy3d *c, u64 stream) {
  ENTER(IN_CONTEXT);
  if (c->sl || c->dl || c->s0 || c->d0) wrong("a level, or a reserved pointer, of a copy of planes is not 0");
  if (c->st + c->dt != 3 || c->st == c->dt) wrong("a copy of planes that is not between host and device");
  struct rows r = {.from = side(c->st, c->sh, c->sd), .to = side(c->dt, c->dh, c->dd), .from_pitch = c->sp, .to_pitch = c->dp,
                   .width = c->w, .height = c->h, .depth = c->d};
  int code = planes(&r, c->shh, c->dhh);
  if (c->sx || c->sy || c->sz || c->dx || c->dy || c->dz) wrong("a copy of planes with an origin, which this does not know");
  return leave(code ? code : copy(stream, r, 0));
}
#endif
CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) { ENTER(IN_CONTEXT); return leave(set(0, to, value, 1, count)); }
CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count) { ENTER(IN_CONTEXT); return leave(set(0, to, value, 4, count)); }
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, u64 stream) { ENTER(IN_CONTEXT); return leave(set(stream, to, value, 1, count)); }

/* Kernels. A module is its text, from which the sizes of parameters are known. */
struct function { kernel run; int count; size_t sizes[32]; };
static struct { char name[64]; kernel run; } kernels[32];

void fake_kernel(const char *name, kernel run) {
  pthread_mutex_lock(&lock);
  for (int i = 0; i < 32; i++)
    if (!kernels[i].run || !strcmp(kernels[i].name, name)) { snprintf(kernels[i].name, 64, "%s", name); kernels[i].run = run; break; }
  pthread_mutex_unlock(&lock);
}

CUresult cuModuleLoadData(char **module, const void *image) {
  ENTER(IN_CONTEXT);
  if (!strstr(image, ".entry")) return leave(200); /* Invalid image. */
  *module = strdup(image);
  return leave(OK);
}
CUresult cuModuleUnload(char *module) { ENTER(STARTED); free(module); return leave(OK); }
CUresult cuModuleGetFunction(struct function **to, char *module, const char *name) {
  ENTER(STARTED);
  char symbol[128];
  snprintf(symbol, sizeof symbol, "fake_kernel_%s", name);
  struct function f = {.run = (kernel)dlsym(RTLD_DEFAULT, symbol)};
  for (int i = 0; i < 32; i++) if (kernels[i].run && !strcmp(kernels[i].name, name)) f.run = kernels[i].run;
  for (char *at = module; (at = strstr(at, ".entry")); at += 6) {
    char *word = at + 6;
    word += strspn(word, " \t\n");
    size_t length = strlen(name);
    if (strncmp(word, name, length) || !strchr(" \t\n(", word[length])) continue;
    char *end = strchr(word, ')');
    for (char *p = word; (p = strstr(p, ".param")) && p < end && f.count < 31; p += 6) {
      char *type = strchr(p + 6, '.');
      while (type && !strncmp(type, ".align", 6)) type = strchr(type + 1, '.');
      size_t bits = type ? strtoul(type + 2, NULL, 10) : 0, times = 1;
      char *stop = type ? strpbrk(type, ",)[") : NULL;
      if (stop && *stop == '[') times = strtoul(stop + 1, NULL, 10);
      f.sizes[f.count++] = bits / 8 * times;
    }
    if (!f.run) { fprintf(stderr, "fake device: the program has no %s\n", symbol); return leave(NOT_FOUND); }
    *to = malloc(sizeof f);
    **to = f;
    return leave(OK);
  }
  return leave(NOT_FOUND);
}
CUresult cuLaunchKernel(struct function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, u64 stream, void **params, void **extra) {
  ENTER(IN_CONTEXT);
  (void)shared; (void)extra;
  struct stream *s = stream_of(stream);
  if (!s) return leave(INVALID_HANDLE);
  if (!gx || !gy || !gz || !bx || !by || !bz || bx * by * bz > 1024) return leave(INVALID_VALUE);
  void **copies = calloc(f->count + 1, sizeof *copies);
  for (int i = 0; i < f->count; i++) { copies[i] = calloc(1, f->sizes[i] < 8 ? 8 : f->sizes[i]); memcpy(copies[i], params[i], f->sizes[i]); }
  enqueue(s, (struct op){.work = KERNEL, .run = f->run, .grid = {gx, gy, gz, bx, by, bz}, .params = copies});
  return leave(OK);
}

/* Errors. */
static const struct { int code; const char *name, *text; } errors[] = {
  {0, "CUDA_SUCCESS", "no error"}, {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"}, {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
  {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"}, {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
  {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "device unavailable"}, {100, "CUDA_ERROR_NO_DEVICE", "no device"},
  {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"}, {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
  {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"}, {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
  {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"}, {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
  {600, "CUDA_ERROR_NOT_READY", "device not ready"}, {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
  {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
  {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped"},
  {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"},
  {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"}, {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
  {999, "CUDA_ERROR_UNKNOWN", "unknown error"}};

CUresult cuGetErrorName(int code, const char **name) {
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) if (errors[i].code == code) return *name = errors[i].name, OK;
  return *name = NULL, INVALID_VALUE;
}
CUresult cuGetErrorString(int code, const char **text) {
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) if (errors[i].code == code) return *text = errors[i].text, OK;
  return *text = NULL, INVALID_VALUE;
}
