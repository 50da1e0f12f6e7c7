/* Where exceptions of C++ end. SPDX-License-Identifier: MIT OR Apache-2.0 */

#include <scr.h>

int scr_call_routine(SCR_List_fn routine, SCR_State* state, void* context);

/* Calls a routine of the program. This file is compiled without tables for unwinding, so an exception that leaves the
   routine finds no way on: it ends the program as one that nothing catches, with its text. Beyond are functions in Rust,
   whose part in unwinding may be of another library than that of C++, and which cannot catch it. */
int scr_call_routine(SCR_List_fn routine, SCR_State* state, void* context)
{
    /* Not the last thing that this function does, or it would have no frame. */
    volatile int returned = routine(state, context);
    return returned;
}

int scr_call_owner(SCR_Owner_fn owner, const int64_t* keys, int64_t count, int* ranks, void* context);

/* Calls a function of the program that tells the owners of elements, as above. */
int scr_call_owner(SCR_Owner_fn owner, const int64_t* keys, int64_t count, int* ranks, void* context)
{
    volatile int returned = owner(keys, count, ranks, context);
    return returned;
}

int scr_call_copy(SCR_Copy_fn copy, void* context, void* to, const void* from, size_t bytes, int direction);

/* Calls a function of the program that copies memory of a field, as above. */
int scr_call_copy(SCR_Copy_fn copy, void* context, void* to, const void* from, size_t bytes, int direction)
{
    volatile int returned = copy(context, to, from, bytes, direction);
    return returned;
}
