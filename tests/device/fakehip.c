/* libamdhip64.so.6 and, as a library that needs it, libhsa-runtime64.so.1, without a device. See fake.h.
 * fake_set("rocm", 5) gives the numbers of ROCm 5. Each call starts HIP, as the real ones do. */
#include "planes.h"

typedef int hipError_t;
typedef struct { int type, device; void *devicePointer, *hostPointer; int isManaged; unsigned flags; } attributes;
typedef struct { uint32_t size, type; void *agentBase, *hostBase; size_t bytes; void *user; uint64_t owner; uint32_t flags; char registered; } pointer_info;

static __thread int device, last_error;

/* A call starts HIP. The current device is the one of the thread. */
static int begin(const char *name) {
  if (!owner) {
    from_environment();
    start();
    for (int i = 0; i < devices && i < 16; i++) primary[i] = new_context(i, 1, 0);
  }
  stack[0] = primary[device];
  depth = 1;
  return check(name, IN_CONTEXT);
}

static int end(int code) {
  if (code) last_error = code;
  return leave(code);
}

#define HIP() \
  if (owner && getpid() != owner) return NOT_INITIALIZED; \
  pthread_mutex_lock(&lock); \
  { int code_ = begin(__func__); if (code_) return end(code_); }

hipError_t hipInit(unsigned flags) { HIP(); return end(flags ? INVALID_VALUE : OK); }
hipError_t hipGetDeviceCount(int *count) { HIP(); *count = (int)devices; return end(devices ? OK : 100); }
hipError_t hipGetDevice(int *current) { HIP(); *current = device; return end(OK); }
hipError_t hipSetDevice(int to) {
  HIP();
  if (to < 0 || to >= devices) return end(INVALID_DEVICE);
  device = to;
  return end(OK);
}
hipError_t hipPeekAtLastError(void) { return last_error; }
hipError_t hipGetLastError(void) { int code = last_error; last_error = 0; return code; }
hipError_t hipDeviceSynchronize(void) { HIP(); wait_context(current()); return end(current()->broken); }

static int new_memory(void **to, size_t size, enum kind kind) {
  struct range *r = size ? allocate(size, kind, current()) : NULL;
  *to = r ? (void *)r->at : NULL;
  return r || !size ? OK : OUT_OF_MEMORY;
}
hipError_t hipMalloc(void **to, size_t size) { HIP(); return end(new_memory(to, size, DEVICE)); }
hipError_t hipMallocManaged(void **to, size_t size, unsigned flags) { HIP(); (void)flags; return end(new_memory(to, size, MANAGED)); }
hipError_t hipFree(void *at) {
  HIP();
  struct range *r = find((uintptr_t)at);
  if (!at) return end(OK);
  if (!r || r->at != (uintptr_t)at || r->kind > MANAGED) return end(INVALID_VALUE);
  wait_context(r->context);
  forget(r);
  return end(OK);
}
hipError_t hipHostMalloc(void **to, size_t size, unsigned flags) { HIP(); (void)flags; return end(host_allocate(to, size)); }
hipError_t hipHostFree(void *at) { HIP(); return end(host_free(at)); }
hipError_t hipHostRegister(void *at, size_t size, unsigned flags) { HIP(); (void)flags; return end(host_register(at, size)); }
hipError_t hipHostUnregister(void *at) { HIP(); return end(host_unregister(at)); }

/* Numbers before ROCm 6, and from it on. Before, memory that is not known is an error. */
hipError_t hipPointerGetAttributes(attributes *to, const void *at) {
  static const int five[] = {1, 4, 0, 0}, six[] = {2, 3, 1, 1};
  HIP();
  struct range *r = find((uintptr_t)at);
  memset(to, 0, sizeof *to);
  if (!r) return end(rocm == 5 ? INVALID_VALUE : OK);
  to->type = (rocm == 5 ? five : six)[r->kind];
  to->device = r->device;
  to->devicePointer = to->hostPointer = (void *)r->at;
  if (r->kind == DEVICE) to->hostPointer = NULL;
  to->isManaged = r->kind == MANAGED;
  return end(OK);
}

hipError_t hipStreamCreateWithFlags(u64 *to, unsigned flags) { HIP(); return end(new_stream(to, !(flags & 1))); }
hipError_t hipStreamDestroy(u64 stream) { HIP(); return end(end_stream(stream)); }
hipError_t hipStreamSynchronize(u64 stream) { HIP(); return end(sync_stream(stream)); }
hipError_t hipStreamGetDevice(u64 stream, int *of) {
  HIP();
  struct stream *s = stream_of(stream);
  if (s) *of = s->context->device;
  return end(s ? OK : CONTEXT_IS_DESTROYED);
}
hipError_t hipMemcpyDtoHAsync(void *to, void *from, size_t size, u64 stream) {
  HIP();
  if (!known((u64)(uintptr_t)from, size)) return end(INVALID_VALUE);
  return end(copy(stream, line((uintptr_t)to, (uintptr_t)from, size), 0));
}
hipError_t hipMemcpyHtoDAsync(void *to, void *from, size_t size, u64 stream) {
  HIP();
  if (!known((u64)(uintptr_t)to, size)) return end(INVALID_VALUE);
  return end(copy(stream, line((uintptr_t)to, (uintptr_t)from, size), 0));
}
hipError_t hipMemcpyDtoH(void *to, void *from, size_t size) {
  HIP();
  if (!known((u64)(uintptr_t)from, size)) return end(INVALID_VALUE);
  return end(copy(0, line((uintptr_t)to, (uintptr_t)from, size), 1));
}
hipError_t hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int way, u64 stream) {
  HIP();
  struct rows r = {.from = (uintptr_t)from, .to = (uintptr_t)to, .from_pitch = from_pitch, .to_pitch = to_pitch, .width = width, .height = height, .depth = 1};
  if (!width || !height) return end(OK);
  if (from_pitch < width || to_pitch < width) return end(INVALID_VALUE);
  if ((way == 1 && !find(r.to)) || (way == 2 && !find(r.from)) || way < 1 || way > 2) return end(INVALID_VALUE);
  return end(copy(stream, r, 0));
}
typedef struct { void *ptr; size_t pitch, xsize, ysize; } pitched;
typedef struct { void *srcArray; size_t srcPos[3]; pitched srcPtr; void *dstArray; size_t dstPos[3]; pitched dstPtr; size_t extent[3]; int kind; } copy3d;
/* Ours does not ask for copies that are wrong, so such a copy ends the program. */
hipError_t hipMemcpy3DAsync(const copy3d *c, u64 stream) {
  HIP();
  if (c->srcArray || c->dstArray) wrong("a copy of planes of an array");
  for (int i = 0; i < 3; i++) if (c->srcPos[i] || c->dstPos[i]) wrong("a copy of planes with an origin, which this does not know");
  struct rows r = {.from = (uintptr_t)c->srcPtr.ptr, .to = (uintptr_t)c->dstPtr.ptr, .from_pitch = c->srcPtr.pitch, .to_pitch = c->dstPtr.pitch,
                   .width = c->extent[0], .height = c->extent[1], .depth = c->extent[2]};
  struct range *of = find(c->kind == 1 ? r.to : r.from);
  if ((c->kind != 1 && c->kind != 2) || !of || of->kind > MANAGED) wrong("a copy of planes in a direction that is not that of its memory");
  int code = planes(&r, c->srcPtr.ysize, c->dstPtr.ysize);
  return end(code ? code : copy(stream, r, 0));
}
hipError_t hipMemsetAsync(void *to, int value, size_t size, u64 stream) { HIP(); return end(set(stream, (uintptr_t)to, (unsigned char)value, 1, size)); }

const char *hipGetErrorName(int code) {
  switch (code) {
    case 0: return "hipSuccess";
    case 1: return "hipErrorInvalidValue";
    case 2: return "hipErrorOutOfMemory";
    case 3: return "hipErrorNotInitialized";
    case 101: return "hipErrorInvalidDevice";
    case 214: return "hipErrorECCNotCorrectable";
    case 700: return "hipErrorIllegalAddress";
    case 712: return "hipErrorHostMemoryAlreadyRegistered";
    case 801: return "hipErrorNotSupported";
    default: return "hipErrorUnknown";
  }
}

/* HSA. The agents of devices are 100 and up, that of the processor is 1. Managed memory is none of HSA's. */
enum { HSA_NOT_INITIALIZED = 0x100b, HSA_INVALID_AGENT = 0x1002, HSA_INVALID_ARGUMENT = 0x1001 };

int hsa_amd_pointer_info(const void *at, pointer_info *info, void *(*allocator)(size_t), uint32_t *count, uint64_t **agents) {
  static const unsigned kinds[] = {1, 0, 1, 2};
  (void)allocator; (void)count; (void)agents;
  if (!owner || getpid() != owner) return HSA_NOT_INITIALIZED;
  pthread_mutex_lock(&lock);
  int code = must_fail(__func__);
  if (code) return pthread_mutex_unlock(&lock), code;
  struct range *r = find((uintptr_t)at);
  pointer_info all = {.size = sizeof all, .type = r ? kinds[r->kind] : 0};
  if (all.type) {
    all.agentBase = (void *)r->at;
    all.hostBase = r->kind == DEVICE ? NULL : (void *)r->at;
    all.bytes = r->size;
    all.owner = r->kind == DEVICE ? 100 + (u64)r->device : 1;
  }
  uint32_t size = info->size < sizeof all ? info->size : sizeof all;
  all.size = size;
  memcpy(info, &all, size);
  return pthread_mutex_unlock(&lock), size ? OK : HSA_INVALID_ARGUMENT;
}

int hsa_agent_get_info(uint64_t agent, int which, void *to) {
  if (!owner || getpid() != owner) return HSA_NOT_INITIALIZED;
  if (agent != 1 && (agent < 100 || agent >= 100 + (u64)devices)) return HSA_INVALID_AGENT;
  if (which == 17) *(unsigned *)to = agent != 1;
  else if (which == 0xa114) { memset(to, 0, 8); *(char *)to = one_memory ? 2 : 0; }
  else return HSA_INVALID_ARGUMENT;
  return OK;
}
