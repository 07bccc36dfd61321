#include "dynd/call/registry.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "dynd/abi/plugin.h"
#include "dynd/base/errors.h"
#include "dynd/base/interpreter.h"
#include "dynd/call/resolve.h"
#include "dynd/ops/aggregate.h"
#include "dynd/type/lexer.h"

namespace dynd::nd {

namespace {

struct library {
  void *handle;
  std::string path;
  std::vector<std::string> names;
};

struct registry {
  std::mutex mutex; // guards what follows
  std::vector<callable> callables;
  std::vector<library> libraries;
  std::set<std::string, std::less<>> reserved;
  // One plug-in is loaded at a time, so that a library that two threads load is loaded once. The plug-in's code runs
  // under this lock, and may wait for the interpreter's.
  std::recursive_mutex loading;
};

// Leaked: kernels may be called while statics are being destroyed. A fork waits for what is registered, but not for a
// plug-in that is being loaded, which may wait for the thread that forks: the child has no thread that loads it.
registry &the_registry() {
  static auto *instance = [] {
    auto *made = new registry;
    callable_state::wait_at_fork(); // before: who has this lock may wait for that one
    pthread_atfork([] { the_registry().mutex.lock(); }, [] { the_registry().mutex.unlock(); },
                   [] {
                     new (&the_registry().loading) std::recursive_mutex;
                     the_registry().mutex.unlock();
                   });
    return made;
  }();
  return *instance;
}

// Names that begin with an underscore belong to the language: no Python function may be `__class__`.
bool is_kernel_name(std::string_view name) { return is_identifier(name) && name[0] != '_'; }

std::optional<op_id> find_operation(std::string_view name) {
  for (const operation &o : all_operations()) {
    if (o.name == name) {
      return o.id;
    }
  }
  return std::nullopt;
}

// Empty where there is none.
callable find(const std::vector<callable> &callables, std::string_view name) {
  auto found = std::find_if(callables.begin(), callables.end(), [&](auto &c) { return c.name() == name; });
  return found == callables.end() ? callable() : *found;
}

// Under the lock; empty where there is none.
callable find(const registry &all, std::string_view name) {
  std::optional<op_id> op = find_operation(name);
  return op ? callable_of(*op) : find(all.callables, name);
}

// What is registered, and what it is added to, do not change meanwhile.
struct registering {
  std::scoped_lock<std::mutex, std::mutex> both{the_registry().mutex, callable_state::mutex};
};

// Under both locks: whether the kernel can be an overload of the callable of its name.
void check_offer(const registry &all, const overload &offered) {
  std::string name = offered.function->name;
  if (!is_kernel_name(name)) {
    fail(error_kind::value,
         "\"" + name + "\" cannot be the name of a kernel: it is not an identifier that begins with a letter");
  }
  callable known = find(all, name);
  if (find_aggregate(name) || (all.reserved.count(name) && !known)) {
    fail(error_kind::value, name + ": the name is taken, by a function of the library or a word of the language");
  }
  if (known) {
    check_overload(*known.state(), offered);
  }
}

// Under both locks, of kernels that were checked: all of them, or where there is no memory none. They are neither
// retained nor released: what a plug-in does there may wait for the interpreter.
void add_offers(registry &all, std::span<std::unique_ptr<overload>> offered, const std::string &path) {
  std::vector<callable> made;
  std::vector<callable_state *> to;
  for (const std::unique_ptr<overload> &o : offered) {
    const deferred_ckernel &k = *o->function;
    callable known = find(all, k.name);
    known = known ? known : find(made, k.name);
    if (!known) {
      known = callable(std::string(k.name), k.doc ? k.doc : "");
      known.state()->library = path;
      made.push_back(known);
    }
    to.push_back(known.state());
    make_room(*to.back(), size_t(std::count(to.begin(), to.end(), to.back())));
  }
  all.callables.reserve(all.callables.size() + made.size());
  for (size_t i = 0; i < offered.size(); i++) { // from here on nothing fails
    to[i]->overloads.push_back(std::move(offered[i]));
    note_added(*to[i]);
  }
  std::move(made.begin(), made.end(), std::back_inserter(all.callables));
}

// ---- loading --------------------------------------------------------------------------------------------------------

// What a plug-in has offered so far. Nothing of it is registered before its init has returned.
struct loading {
  const std::string &path;
  std::vector<std::unique_ptr<overload>> kernels;
  error_kind kind = error_kind::value;
  std::string error; // the first thing that went wrong

  void note(error_kind what, std::string text) {
    if (error.empty()) {
      kind = what;
      error = std::move(text);
    }
  }
};

thread_local loading *current_loading = nullptr;

// Whether the kernel can be an overload beside those of its name that were offered before it.
void check_beside(const overload &made, const std::vector<std::unique_ptr<overload>> &offered) {
  std::string_view name = made.function->name;
  std::vector<const overload *> known;
  for (const std::unique_ptr<overload> &other : offered) {
    if (other->function->name == name) {
      known.push_back(other.get());
    }
  }
  if (ambiguous_with(known, made)) {
    fail(error_kind::value, std::string(name) + ": the plug-in registers it twice for the same operands");
  }
}

// The two functions of the table; no exception leaves them.
int host_register_kernel(const dynd_host *, const deferred_ckernel *offered) noexcept {
  loading *now = current_loading;
  if (!now) {
    return dynd_error_internal; // not inside dynd_plugin_init
  }
  try {
    if (!offered) {
      fail(error_kind::type, "register_kernel got NULL");
    }
    check_kernel(*offered); // before anything of it is called
    auto made = std::make_unique<overload>(make_overload(kernel(*offered)));
    check_beside(*made, now->kernels);
    registering lock;
    check_offer(the_registry(), *made);
    now->kernels.push_back(std::move(made));
    return dynd_ok;
  } catch (const error &e) {
    now->note(e.kind(), e.what());
    return int(e.kind());
  } catch (...) {
    now->note(error_kind::memory, "no memory");
    return dynd_error_memory;
  }
}

void host_set_error(const dynd_host *, const char *text) noexcept {
  if (loading *now = current_loading; now && text) {
    try {
      now->note(error_kind::value, text);
    } catch (...) { // no memory for the text: the plug-in is refused without it
    }
  }
}

const dynd_host the_host = {sizeof(dynd_host), DYND_ABI_VERSION, host_register_kernel, host_set_error};

struct close_library {
  void operator()(void *handle) const { dlclose(handle); }
};
using library_handle = std::unique_ptr<void, close_library>;

// "triple.so" is the file here, not one of the system's.
library_handle open(const std::string &path, int flags) {
  bool here = path.find('/') == path.npos && access(path.c_str(), R_OK) == 0;
  return library_handle(dlopen((here ? "./" + path : path).c_str(), flags));
}

library_handle open_library(const std::string &path) {
  if (path.find('\0') != path.npos) {
    fail(error_kind::value, "load: the path has a zero byte in it");
  }
  library_handle handle = open(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *why = dlerror();
    fail(error_kind::value, "load: " + (why ? std::string(why) : path + ": cannot be loaded"));
  }
  return handle;
}

void run_init(const library_handle &handle, loading &now) {
  auto init = reinterpret_cast<dynd_plugin_init_t>(dlsym(handle.get(), "dynd_plugin_init"));
  if (!init) {
    fail(error_kind::value, "load: " + now.path + ": it is no plug-in: it exports no dynd_plugin_init");
  }
  struct restore {
    loading *previous;
    ~restore() { current_loading = previous; }
  } guard{std::exchange(current_loading, &now)};
  int status = dynd_error_internal;
  try {
    status = init(&the_host);
  } catch (...) { // C++ code that breaks the rule
    now.note(error_kind::internal, "dynd_plugin_init threw an exception");
  }
  if (status != dynd_ok) {
    now.note(error_kind::value, "dynd_plugin_init failed with status " + std::to_string(status));
  } else if (now.kernels.empty()) {
    now.note(error_kind::value, "dynd_plugin_init registered no kernel");
  }
}

} // namespace

std::vector<std::string> load(const std::string &path) {
  registry &all = the_registry();
  without_interpreter unlocked;
  std::lock_guard turn(all.loading);
  library_handle handle = open_library(path);
  {
    std::lock_guard lock(all.mutex);
    for (const library &other : all.libraries) {
      if (other.handle == handle.get()) {
        return other.names;
      }
    }
  }
  loading now{path, {}, error_kind::value, ""};
  run_init(handle, now);
  auto lock = std::make_optional<registering>();
  std::vector<std::string> names;
  try {
    for (const std::unique_ptr<overload> &o : now.kernels) {
      check_offer(all, *o); // again: another thread may have registered one
      o->library = handle.get();
      if (std::find(names.begin(), names.end(), o->function->name) == names.end()) {
        names.emplace_back(o->function->name);
      }
    }
  } catch (const error &e) {
    now.note(e.kind(), e.what());
  }
  if (!now.error.empty()) {
    lock.reset();
    now.kernels.clear(); // before the library goes
    fail(now.kind, "load: " + path + ": " + now.error);
  }
  library own{handle.get(), path, names};
  all.libraries.reserve(all.libraries.size() + 1);
  add_offers(all, now.kernels, path);
  all.libraries.push_back(std::move(own));
  handle.release(); // from here on something of it may be in use
  return names;
}

void forget(const std::string &path) {
  registry &all = the_registry();
  library_handle handle = open(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD); // however the path is written
  std::vector<callable> gone;                                              // released without the lock
  std::lock_guard lock(all.mutex);
  auto found = std::find_if(all.libraries.begin(), all.libraries.end(), [&](const library &l) {
    return handle ? l.handle == handle.get() : l.path == path; // the file may be gone
  });
  if (found == all.libraries.end()) {
    return;
  }
  auto own = std::stable_partition(all.callables.begin(), all.callables.end(),
                                   [&](const callable &c) { return c.state()->library != found->path; });
  std::move(own, all.callables.end(), std::back_inserter(gone));
  all.callables.erase(own, all.callables.end());
  for (const std::string &name : found->names) {
    if (callable other = find(all, name)) {
      forget_overloads(*other.state(), found->handle);
    }
  }
  all.libraries.erase(found);
}

void register_kernel(const kernel &k) {
  check_kernel(*k);
  auto made = std::make_unique<overload>(make_overload(k));
  registering lock;
  check_offer(the_registry(), *made);
  add_offers(the_registry(), {&made, 1}, "");
}

callable find_callable(std::string_view name) {
  std::lock_guard lock(the_registry().mutex);
  return find(the_registry(), name);
}

std::vector<callable> callables() {
  std::lock_guard lock(the_registry().mutex);
  return the_registry().callables;
}

callable callable_of(op_id op) {
  static callable_state **all = [] {
    auto **made = new callable_state *[max_operations]; // leaked, as kernels are
    for (const operation &o : all_operations()) {
      made[size_t(o.id)] = new callable_state(o.name, o.doc);
      made[size_t(o.id)]->op = o.id;
    }
    return made;
  }();
  return callable(ref<callable_state>::share(all[size_t(op)]));
}

void reserve_names(const std::vector<std::string> &names) {
  std::lock_guard lock(the_registry().mutex);
  the_registry().reserved.insert(names.begin(), names.end());
}

} // namespace dynd::nd
