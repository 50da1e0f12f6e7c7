/* libhsa-runtime64.so.1: its functions are those of fakehip.c, which it needs. */
int fake_hsa(void) { return 0; }
