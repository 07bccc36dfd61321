// The functions of one overload: tests of layouts, the loop, and the structures that the library gets.
#include <algorithm>

#include "kernelgen/emit.h"

namespace kernelgen {

namespace {

const char *kind_name(layout_kind kind) {
  static const char *const names[] = {"c", "fortran", "strided", "xnd"};
  return names[int(kind)];
}

int count_operands(const variant &v) {
  int n = count_results(v);
  for (const argument &a : v.arguments) {
    n += a.operand >= 0;
  }
  return n;
}

// The arguments of the signature, results first.
std::vector<const argument *> signature_arguments(const variant &v) {
  std::vector<const argument *> all(size_t(count_operands(v)));
  auto place = [&](const argument &a) {
    if (a.result >= 0) {
      all[size_t(a.result)] = &a;
    }
    if (a.operand >= 0) {
      all[size_t(count_results(v) + a.operand)] = &a;
    }
  };
  std::for_each(v.arguments.begin(), v.arguments.end(), place);
  place(v.result.value);
  return all;
}

// Whether the operands are in the order that a variant wants. Results are made, or copied, as it likes.
void emit_test(writer &out, const overload &o, const variant &v) {
  std::vector<std::string> tests;
  size_t at = 0;
  for (const argument *a : signature_arguments(v)) {
    std::string size = "(const int64_t[])" + whole_sizes_text(*a) + ", dynd_k->stride + " + std::to_string(at) + ", " +
                       std::to_string(a->core.size()) + ", " + item_size(*a);
    at += a->core.size();
    bool is_operand = a->operand >= 0 && at > stride_of_operand(v, *a, true);
    if (is_operand && a->is_array() && !has_dense_strides(v, *a)) {
      tests.push_back(v.kind == layout_kind::strided
                          ? "dynd_has_steps(" + size + ")"
                          : "dynd_is_dense(" + size + ", '" + (a->fortran ? "F" : "C") + "')");
    }
  }
  out.open("static inline int " + o.symbol + "_is_" + kind_name(v.kind) +
           "(const dynd_core_call *dynd_call, size_t dynd_i, const dynd_wrapper *dynd_k)");
  out.line("(void)dynd_call, (void)dynd_i, (void)dynd_k;");
  out.line("return " + (tests.empty() ? "1" : joined(tests, " && ")) + ";");
  out.close();
  out.blank();
}

std::string call_parameters(bool scalar) {
  return scalar ? "char *const *dynd_data, const intptr_t *dynd_stride, "
                : "const dynd_core_call *dynd_call, int dynd_dense, ";
}

void emit_state(writer &out, const kernel &k, const overload &o) {
  std::set<std::string> rooms;
  for (const variant &v : o.variants) {
    for (size_t s = 0; v.skips && s < v.sizes.size(); s++) {
      rooms.insert("dynd_kept" + std::to_string(s));
    }
    for (const argument &a : v.arguments) {
      if (a.is_array()) {
        rooms.insert(a.name);
      }
      if (a.form == argument_form::rows) {
        rooms.insert(a.name + "_rows");
      }
    }
  }
  out.line("/* What is kept from one outer element to the next: memory for copies, and resources. */");
  out.open("typedef struct");
  for (const std::string &name : rooms) {
    out.line("dynd_room " + name + ";");
  }
  for (const resource *r : k.resources) {
    out.line("dynd_resource *" + r->name + ";");
  }
  if (rooms.empty() && k.resources.empty()) {
    out.line("char nothing;");
  }
  out.close(" " + o.symbol + "_state;");
  out.blank();
}

// The calls for one outer element: the first variant whose layout fits.
void emit_variants(writer &out, const overload &o, const std::string &data) {
  for (size_t i = 0; i < o.variants.size(); i++) {
    std::string name = o.symbol + "_" + kind_name(o.variants[i].kind);
    std::string call = "dynd_status = " + name + "(" + data + ", dynd_i, dynd_k, &dynd_s, dynd_f);";
    bool last = i + 1 == o.variants.size();
    std::string test =
        last ? "" : "if (" + o.symbol + "_is_" + kind_name(o.variants[i].kind) + "(&dynd_copy, dynd_i, dynd_k))";
    if (i > 0 || !last) {
      out.line((i == 0 ? "" : last ? "else" : "else ") + test);
    }
    out.line((o.variants.size() > 1 ? "  " : "") + call);
  }
}

// What lets the compiler drop strides, or the tests of rows: numbers that follow each other, rows without gaps.
std::string dense_test(const overload &o, bool scalar) {
  std::vector<std::string> tests;
  size_t stride = 0, index = 0;
  for (const argument *a : signature_arguments(o.main())) {
    std::string item = " == (intptr_t)" + item_size(*a);
    if (scalar) {
      tests.push_back("dynd_stride[" + std::to_string(index++) + "]" + item);
    } else if (a->core.size() == 1) {
      tests.push_back("dynd_k->stride[" + std::to_string(stride) + "]" + item);
    }
    stride += a->core.size();
  }
  return o.variants.size() == 1 ? joined(tests, " && ") : "";
}

void emit_loop(writer &out, const overload &o, bool scalar, const std::string &dense) {
  std::string data = scalar ? "dynd_data, " + dense : "&dynd_copy, " + dense;
  out.open("for (size_t dynd_i = 0; dynd_i < " + std::string(scalar ? "dynd_count" : "dynd_copy.count") +
           " && dynd_status == dynd_ok; dynd_i++)");
  emit_variants(out, o, data);
  if (!scalar) {
    out.line("if (dynd_i % 64 == 63 && dynd_f->cancel && *dynd_f->cancel && dynd_status == dynd_ok)");
    out.line("  dynd_status = dynd_error_cancelled;");
    out.line("if (dynd_status != dynd_ok)");
    out.line("  dynd_core_failed(dynd_call, dynd_i);");
  }
  out.close();
}

// The loop twice where that is worth it: once for arrays without gaps.
void emit_loops(writer &out, const overload &o, bool scalar) {
  std::string test = dense_test(o, scalar);
  if (test.empty()) {
    return emit_loop(out, o, scalar, scalar ? "dynd_stride" : "0");
  }
  std::vector<std::string> items;
  for (const argument *a : signature_arguments(o.main())) {
    items.push_back(item_size(*a));
  }
  out.open("if (" + test + ")");
  if (scalar) {
    out.line("const intptr_t dynd_dense[] = {" + joined(items, ", ") + "};");
  }
  emit_loop(out, o, scalar, scalar ? "dynd_dense" : "1");
  out.otherwise();
  emit_loop(out, o, scalar, scalar ? "dynd_stride" : "0");
  out.close();
}

void emit_run(writer &out, const kernel &k, const overload &o, bool scalar) {
  std::string n = std::to_string(count_operands(o.main()));
  out.line("static int " + o.symbol + "_run(" +
           (scalar ? "char *const *dynd_given, const intptr_t *dynd_given_stride, size_t dynd_count,"
                   : "const dynd_core_call *dynd_call,"));
  out.open("    const ckernel_prefix *dynd_self, dynd_frame *dynd_f)");
  out.line("const dynd_wrapper *dynd_k = (const dynd_wrapper *)(const void *)dynd_self;");
  out.line(o.symbol + "_state dynd_s;");
  out.line("int dynd_status = dynd_ok;");
  if (scalar) {
    out.line("char *dynd_data[" + n + "];");
    out.line("intptr_t dynd_stride[" + n + "];");
    out.line("memcpy(dynd_data, dynd_given, sizeof(dynd_data));");
    out.line("memcpy(dynd_stride, dynd_given_stride, sizeof(dynd_stride));");
  } else if (o.main().sizes.empty()) {
    out.line("const dynd_core_call dynd_copy = *dynd_call;");
  } else {
    out.line("DYND_COPY_CALL(dynd_copy, dynd_call, " + n + ", " + std::to_string(o.main().sizes.size()) + ");");
  }
  out.line("memset(&dynd_s, 0, sizeof(dynd_s));");
  if (!k.threadsafe) {
    out.line("pthread_mutex_lock(&dynd_one_at_a_time);");
  }
  emit_loops(out, o, scalar);
  for (size_t i = 0; i < k.resources.size(); i++) {
    if (!k.resources[i]->is_shared) {
      out.line("if (dynd_s." + k.resources[i]->name + ")");
      out.line("  dynd_pool_give(dynd_k->pool[" + std::to_string(i) + "], dynd_s." + k.resources[i]->name + ");");
    }
  }
  if (!k.threadsafe) {
    out.line("pthread_mutex_unlock(&dynd_one_at_a_time);");
  }
  out.line("return dynd_status;");
  out.close();
  out.blank();
}

std::string doc_of(const kernel &k, const overload &o) {
  std::string text = k.description.empty() ? "" : k.description + "\n\n";
  const variant &v = o.main();
  for (const argument &a : v.arguments) {
    if (a.intent == intent_kind::hide && !a.is_result) {
      continue;
    }
    std::vector<std::string> dims;
    for (const expression &d : a.dims) {
      dims.push_back(d.str());
    }
    text += a.name + (dims.empty() ? "" : "(" + joined(dims, ", ") + ")") + ": " + a.element + ", " + intent_text(a);
    text += a.value && a.is_given() ? ", by default " + a.value->str() : "";
    text += a.intent == intent_kind::inplace ? " (changed; copied back where it has gaps)\n"
            : a.intent == intent_kind::inout ? " (changed; must be contiguous)\n"
                                             : "\n";
  }
  if (v.result.value.result >= 0) {
    text += v.result.value.name + ": " + v.result.value.element + ", what the function returns\n";
  }
  return text + "\nCalls " + v.function.text() + (k.threadsafe ? "" : ", one call at a time") + ".";
}

void emit_kernel_struct(writer &out, const kernel &k, const overload &o, bool scalar) {
  std::vector<std::string> releases;
  for (const resource *r : k.resources) {
    releases.push_back("dynd_release_" + r->name);
  }
  out.line("static const dynd_wrapper_info " + o.symbol + "_info = {(void *)" + o.symbol + "_run, " +
           std::to_string(k.resources.size()) + ", {" + (releases.empty() ? "NULL" : joined(releases, ", ")) + "}};");
  std::vector<std::string> flags;
  if (!k.threadsafe) {
    flags.push_back("dynd_callable_one_thread");
  }
  if (k.pure) {
    flags.push_back("dynd_callable_pure");
    if (k.failures.empty() && !k.returns_status) {
      flags.push_back("dynd_callable_total");
    }
  }
  auto wants_f = [](const argument &a) { return a.is_result && a.fortran; };
  if (std::any_of(o.main().arguments.begin(), o.main().arguments.end(), wants_f)) {
    flags.push_back("dynd_callable_f_results");
  }
  out.open("static const deferred_ckernel " + o.symbol + "_kernel =");
  out.line(".size = sizeof(deferred_ckernel), .version = DYND_ABI_VERSION,");
  out.line(std::string(".prototype = ") + (scalar ? "multi_operation_funcproto_id" : "core_operation_funcproto_id") +
           ",");
  out.line(".flags = " + (flags.empty() ? "0" : joined(flags, " | ")) + ", .name = " + quoted_c(k.registered) + ",");
  out.line(".signature = " + quoted_c(o.main().signature) + ",");
  out.line(".doc = " + quoted_c(doc_of(k, o)) + ",");
  out.line(".data_ptr = (void *)&" + o.symbol + "_info, .instantiate = dynd_wrapper_make" +
           (has_computed_sizes(o) ? ", .output_sizes = &" + o.symbol + "_sizes" : ""));
  out.close(";");
  out.blank();
}

} // namespace

bool is_scalar(const kernel &k, const overload &o) {
  const variant &v = o.main();
  bool any_operand = false, plain = o.variants.size() == 1 && k.propagates && v.result.kind != return_kind::array;
  for (const argument &a : v.arguments) {
    plain = plain && !a.is_array() && !a.is_written_operand() && !a.is_optional &&
            (a.operand < 0 || is_scalar_type(a.element)) && (a.result < 0 || is_scalar_type(a.element));
    any_operand |= a.operand >= 0;
  }
  return plain && any_operand && count_results(v) > 0 &&
         (v.result.value.result < 0 || is_scalar_type(v.result.value.element));
}

void emit_overload(writer &out, const kernel &k, const overload &o) {
  bool scalar = is_scalar(k, o);
  out.line("/* ---- " + k.name + ": " + o.main().signature + " */");
  out.blank();
  emit_state(out, k, o);
  for (const variant &v : o.variants) {
    if (&v != &o.variants.back()) {
      emit_test(out, o, v);
    }
    out.line("/* " + v.function.text() + " */");
    out.line("DYND_INLINE int " + o.symbol + "_" + kind_name(v.kind) + "(" + call_parameters(scalar) +
             "size_t dynd_i,");
    out.open("    const dynd_wrapper *dynd_k, " + o.symbol + "_state *dynd_s, dynd_frame *dynd_f)");
    out.line(std::string("(void)dynd_k, (void)dynd_s, (void)dynd_f, (void)dynd_i") +
             (scalar ? ";" : ", (void)dynd_dense;"));
    emit_body(out, k, o, v);
    out.close();
    out.blank();
  }
  emit_run(out, k, o, scalar);
  if (has_computed_sizes(o)) {
    emit_sizes(out, k, o);
  }
  emit_kernel_struct(out, k, o, scalar);
}

} // namespace kernelgen
