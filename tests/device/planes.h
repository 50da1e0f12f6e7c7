/* Copies of planes, for both drivers. See fake.h. */
#include "fake.h"

/* Planes of rows. What a driver need not take, and what is outside of the memory, ends the program. */
static int planes(struct rows *r, size_t from_rows, size_t to_rows) {
  const size_t most = 2147483647;
  if (!r->width || !r->height || !r->depth) wrong("a copy of no planes");
  if (r->from_pitch < r->width || r->to_pitch < r->width) wrong("rows of a plane overlap");
  if (from_rows < r->height || to_rows < r->height) wrong("planes overlap");
  if (r->from_pitch > most || r->to_pitch > most) wrong("rows are too far apart");
  r->from_slice = r->from_pitch * from_rows;
  r->to_slice = r->to_pitch * to_rows;
  if (!inside(r->from, extent(r->from_pitch, r->from_slice, r)) || !inside(r->to, extent(r->to_pitch, r->to_slice, r)))
    wrong("planes are outside of the memory");
  if (!find(r->from) && !find(r->to)) wrong("a copy of planes of which no side is the device's");
  if (planes_refused == 1) return INVALID_VALUE;
  /* A driver may ask for the whole last plane. */
  if (planes_refused == 2 && !(inside(r->from, r->from_slice * r->depth) && inside(r->to, r->to_slice * r->depth))) return INVALID_VALUE;
  return OK;
}
