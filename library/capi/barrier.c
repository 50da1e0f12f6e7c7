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
