/* Plug-ins: a shared library that brings deferred kernels.
 *
 * It exports one function, dynd_plugin_init, and links against nothing: all it may ask of the library are the
 * functions in the table that it gets. Plain C11. */
#ifndef DYND_ABI_PLUGIN_H
#define DYND_ABI_PLUGIN_H

#include "dynd/abi/callable.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the library offers to a plug-in. New functions go at the end: a plug-in that uses one added later looks at
 * `size` first. The table lives as long as the process; its functions do something only inside dynd_plugin_init,
 * on the thread that called it. */
typedef struct dynd_host dynd_host;
struct dynd_host {
  uint32_t size, version; /* version: DYND_ABI_VERSION of the library */
  /* Offers a kernel under its name. The plug-in keeps the struct and what it points to, unchanged, for as long as it
   * is loaded (or until `release`, if it has one). dynd_ok, or a negative dynd_status: the plug-in will be refused,
   * whatever it returns, with the reason that the library has noted. */
  int (*register_kernel)(const dynd_host *self, const deferred_ckernel *kernel);
  /* The reason why dynd_plugin_init is about to fail. The text is copied. */
  void (*set_error)(const dynd_host *self, const char *text);
};

/* What a plug-in exports. Returns dynd_ok or a negative dynd_status; then nothing of the plug-in is kept. */
typedef int (*dynd_plugin_init_t)(const dynd_host *host);

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
int dynd_plugin_init(const dynd_host *host);

#ifdef __cplusplus
}
#endif

#endif /* DYND_ABI_PLUGIN_H */
