#include "dynd/call/blas_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "dynd/call/blas.h"

namespace dynd::nd {

namespace {

// A build of OpenBLAS that is older than the CPU does not know it, and takes the loops of one that is 15 years older.
bool is_for_this_cpu([[maybe_unused]] const char *core) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2")) {
    return true;
  }
  for (const char *without_avx2 : {"Prescott", "Core2", "Penryn", "Dunnington", "Nehalem", "Atom", "Nano", "Opteron",
                                   "Barcelona", "Bobcat", "Bulldozer", "Piledriver", "Sandybridge", "Steamroller"}) {
    if (std::strncmp(core, without_avx2, std::strlen(without_avx2)) == 0) {
      return false;
    }
  }
#endif
  return true;
}

std::mutex blas_loading;
std::vector<std::string> extra_paths;

// The names that builds of OpenBLAS give to their functions.
bool find_functions(void *handle, blas &found) {
  struct {
    const char *before, *behind;
    bool wide;
  } const names[] = {
      {"cblas_", "", false}, {"cblas_", "64_", true}, {"scipy_cblas_", "64_", true}, {"scipy_cblas_", "", false}};
  for (auto &n : names) {
    bool all = true;
    auto find = [&](const char *function) {
      void *at = dlsym(handle, (std::string(n.before) + function + n.behind).c_str());
      all = all && at;
      return at;
    };
    found.single = {find("sgemm"), find("sgemv"), find("sdot")};
    found.doubles = {find("dgemm"), find("dgemv"), find("ddot")};
    found.single_complex = {find("cgemm"), find("cgemv"), find("cdotu_sub")};
    found.double_complex = {find("zgemm"), find("zgemv"), find("zdotu_sub")};
    found.wide = n.wide;
    if (all) {
      found.set_local = reinterpret_cast<int (*)(int)>(dlsym(handle, "openblas_set_num_threads_local"));
      bool scipy = n.before[0] == 's';
      std::string core = std::string(scipy ? "scipy_" : "") + "openblas_get_corename" + n.behind;
      auto core_name = reinterpret_cast<const char *(*)()>(dlsym(handle, core.c_str()));
      found.fast = !core_name || is_for_this_cpu(core_name());
      return true;
    }
  }
  return false;
}

blas load() {
  std::vector<std::string> paths;
  if (const char *given = std::getenv("DYND_BLAS")) {
    paths.push_back(given); // empty: none
  } else {
    paths.push_back("libopenblas.so.0");
    paths.insert(paths.end(), extra_paths.begin(), extra_paths.end());
    paths.push_back("libblas.so.3");
  }
  blas best;
  auto merit = [](const blas &b) { return b.path.empty() ? 0 : 1 + 2 * b.fast + (b.set_local != nullptr); };
  for (const std::string &path : paths) { // the first of the best; what was opened stays, others may have it open too
    void *handle = path.empty() || merit(best) == 4 ? nullptr : dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    blas found;
    if (handle && find_functions(handle, found)) {
      found.path = path;
      best = merit(found) > merit(best) ? found : best;
    } else if (handle) {
      dlclose(handle);
    }
  }
  return best;
}

} // namespace

const blas &the_blas() {
  static const blas *found = [] {
    std::lock_guard lock(blas_loading);
    return new blas(load()); // stays, as kernels may be called until the end
  }();
  return *found;
}

void add_blas_path(std::string path) {
  std::lock_guard lock(blas_loading);
  extra_paths.push_back(std::move(path));
}

std::string blas_library() { return the_blas().path; }

} // namespace dynd::nd
