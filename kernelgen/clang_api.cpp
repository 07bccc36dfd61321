#include "kernelgen/clang_api.h"

#include <dlfcn.h>

#include <cstdlib>

#include "kernelgen/source.h"

namespace kernelgen {

namespace {

void *open_clang() {
  if (const char *own = std::getenv("DYND_LIBCLANG")) {
    return dlopen(own, RTLD_NOW | RTLD_LOCAL);
  }
  for (int version = 30; version >= 11; version--) {
    std::string number = std::to_string(version);
    for (const std::string &name : {"libclang-" + number + ".so.1", "libclang-" + number + ".so." + number,
                                    "libclang.so." + number, "/usr/lib/llvm-" + number + "/lib/libclang.so.1"}) {
      if (void *found = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        return found;
      }
    }
  }
  void *plain = dlopen("libclang.so.1", RTLD_NOW | RTLD_LOCAL);
  return plain ? plain : dlopen("libclang.so", RTLD_NOW | RTLD_LOCAL);
}

clang_api *load() {
  void *library = open_clang();
  if (!library) {
    throw problem({},
                  "scan: libclang is not there: install the package libclang1, or set DYND_LIBCLANG to the library");
  }
  auto *made = new clang_api;
#define KERNELGEN_LOAD(result, name, parameters)                                                                       \
  made->name = reinterpret_cast<result(*) parameters>(dlsym(library, "clang_" #name));                                 \
  if (!made->name) {                                                                                                   \
    throw problem({}, "scan: this libclang has no clang_" #name);                                                      \
  }
  KERNELGEN_CLANG(KERNELGEN_LOAD)
#undef KERNELGEN_LOAD
  return made;
}

} // namespace

const clang_api &load_clang() {
  static const clang_api *api = load(); // for the life of the process
  return *api;
}

} // namespace kernelgen
