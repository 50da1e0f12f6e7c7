/* libgomp.so.1 without a device: what a test says is on one. Asking counts, as it starts devices. */
#include <stddef.h>
#include <stdint.h>

static struct { uintptr_t at; size_t size; void *there; int acc; } present[16];
static int count, asked;

/* Memory that OpenACC (1) or OpenMP (0) has on the device at another address, or at its own. */
void fake_present(void *at, size_t size, void *there, int acc) {
  present[count].at = (uintptr_t)at;
  present[count].size = size;
  present[count].there = there;
  present[count++].acc = acc;
}
int fake_asked(void) { return asked; }

static int find(const void *at, size_t size, int acc) {
  asked++;
  for (int i = 0; i < count; i++)
    if (present[i].acc == acc && (uintptr_t)at >= present[i].at && (uintptr_t)at + size <= present[i].at + present[i].size) return i;
  return -1;
}
int acc_is_present(const void *at, size_t size) { return find(at, size, 1) >= 0; }
void *acc_deviceptr(const void *at) {
  int i = find(at, 1, 1);
  return i < 0 ? NULL : (char *)present[i].there + ((uintptr_t)at - present[i].at);
}
int omp_get_default_device(void) { return 0; }
int omp_get_initial_device(void) { return 1; }
int omp_target_is_present(const void *at, int device) { return device == 1 || find(at, 1, 0) >= 0; }
void *omp_get_mapped_ptr(const void *at, int device) {
  int i = find(at, 1, 0);
  return device == 1 || i < 0 ? NULL : (char *)present[i].there + ((uintptr_t)at - present[i].at);
}
