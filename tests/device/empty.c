/* A library that only has a name. libhsa-runtime64.so.1 needs that of fakehip.c, where its functions are. */
int fake_empty(void) { return 0; }
