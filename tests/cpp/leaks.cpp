// What the leak sanitizer is told: TBB's workers are still there when the tests end, and so is what they keep for
// themselves (scratch, in thread-local memory, where it does not look).
extern "C" const char *__lsan_default_suppressions() { return "leak:libtbb.so\nleak:__cxa_thread_atexit_impl\n"; }
