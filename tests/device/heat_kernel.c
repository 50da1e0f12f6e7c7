/* The kernel of examples/heat2d_device.c as a function of C, for a driver of ours that cannot run the kernel's text. The
   operations are those of the text, in the same order, and each is rounded. The driver has put addresses that the processor
   can use in the place of the device's. */

#include <stddef.h>

void fake_kernel_heat_step(void** arguments, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz)
{
    double* target = *(double**)arguments[0];
    const double* source = *(double**)arguments[1];
    const size_t rows = *(unsigned*)arguments[2], columns = *(unsigned*)arguments[3], length = columns + 2;
    const size_t threads = (size_t)gx * gy * gz * bx * by * bz;
    for (size_t point = 0; point < threads && point < rows * columns; point++) {
        size_t at = (point / columns + 1) * length + point % columns + 1;
        volatile double around = source[at - 1] + source[at + 1];
        around = around + source[at - length];
        around = around + source[at + length];
        volatile double four = source[at] * 4.0;
        volatile double change = around - four;
        change = change * 0.2;
        target[at] = source[at] + change;
    }
}
