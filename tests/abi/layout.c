/* The layout of the kernel ABI, frozen: every size, offset and enum value, for machines of 64 bits.
 *
 * Compiled only, as C11 and as C++20 (tools/check_abi.sh). A plug-in built against an older header must go on
 * working: what is asserted here never changes; a new field goes at the end of its struct and gets a new line. */
#include <assert.h>
#include <stddef.h>

#include "dynd/abi/callable.h"
#include "dynd/abi/kernel.h"
#include "dynd/abi/plugin.h"

#define SIZE(type, bytes) static_assert(sizeof(type) == (bytes), #type " has changed its size")
#define FIELD(type, field, at) static_assert(offsetof(type, field) == (at), #type "." #field " has moved")
#define VALUE(name, value) static_assert((int)(name) == (value), #name " has changed its value")

VALUE(DYND_ABI_VERSION, 1);
SIZE(void *, 8);
SIZE(void (*)(void), 8);
SIZE(size_t, 8);
SIZE(intptr_t, 8);

/* kernel.h */

VALUE(dynd_ok, 0);
VALUE(dynd_error_type, -1);
VALUE(dynd_error_value, -2);
VALUE(dynd_error_index, -3);
VALUE(dynd_error_broadcast, -4);
VALUE(dynd_error_overflow, -5);
VALUE(dynd_error_memory, -6);
VALUE(dynd_error_internal, -7);
VALUE(dynd_error_cancelled, -8);
SIZE(enum dynd_status, 4);

SIZE(ckernel_prefix, 16);
FIELD(ckernel_prefix, function, 0);
FIELD(ckernel_prefix, destructor, 8);

SIZE(dynd_frame, 312);
FIELD(dynd_frame, size, 0);
FIELD(dynd_frame, version, 4);
FIELD(dynd_frame, scratch, 8);
FIELD(dynd_frame, temp, 16);
FIELD(dynd_frame, cancel, 24);
FIELD(dynd_frame, kind, 32);
FIELD(dynd_frame, text, 36);
FIELD(dynd_frame, engine, 296);
FIELD(dynd_frame, temps, 304);

VALUE(kernel_request_single, 0);
VALUE(kernel_request_strided, 1);
VALUE(kernel_request_single_multistride, 2);
VALUE(kernel_request_strided_multistride, 3);
SIZE(kernel_request_t, 4);

SIZE(ckernel_builder_struct, 40);
FIELD(ckernel_builder_struct, size, 0);
FIELD(ckernel_builder_struct, version, 4);
FIELD(ckernel_builder_struct, data, 8);
FIELD(ckernel_builder_struct, capacity, 16);
FIELD(ckernel_builder_struct, scratch_size, 24);
FIELD(ckernel_builder_struct, grow, 32);

/* callable.h */

VALUE(unary_operation_funcproto_id, 0);
VALUE(expr_operation_funcproto_id, 1);
VALUE(binary_predicate_funcproto_id, 2);
VALUE(multi_operation_funcproto_id, 3);
VALUE(core_operation_funcproto_id, 4);
VALUE(reduction_funcproto_id, 5);
SIZE(enum deferred_ckernel_prototype, 4);

VALUE(dynd_callable_pure, 1);
VALUE(dynd_callable_total, 2);
VALUE(dynd_callable_harmless, 4);
VALUE(dynd_callable_may_alias, 8);
VALUE(dynd_callable_one_thread, 16);
VALUE(dynd_callable_python_lock, 32);
VALUE(dynd_callable_c_layout, 64);
VALUE(dynd_callable_f_layout, 128);
VALUE(dynd_callable_strided_predicate, 256);
VALUE(dynd_callable_f_results, 512);
SIZE(enum deferred_ckernel_flags, 4);

VALUE(assign_error_nocheck, 0);
VALUE(assign_error_overflow, 1);
VALUE(assign_error_fractional, 2);
VALUE(assign_error_inexact, 3);
SIZE(enum assign_error_mode, 4);

SIZE(dynd_arrmeta, 48);
FIELD(dynd_arrmeta, size, 0);
FIELD(dynd_arrmeta, version, 4);
FIELD(dynd_arrmeta, ndim, 8);
FIELD(dynd_arrmeta, nstreams, 12);
FIELD(dynd_arrmeta, dim_size, 16);
FIELD(dynd_arrmeta, stride, 24);
FIELD(dynd_arrmeta, kind, 32);
FIELD(dynd_arrmeta, step, 40);

SIZE(dynd_keyword, 24);
FIELD(dynd_keyword, name, 0);
FIELD(dynd_keyword, type, 8);
FIELD(dynd_keyword, value, 16);

SIZE(dynd_core_call, 88);
FIELD(dynd_core_call, size, 0);
FIELD(dynd_core_call, version, 4);
FIELD(dynd_core_call, count, 8);
FIELD(dynd_core_call, data, 16);
FIELD(dynd_core_call, stride, 24);
FIELD(dynd_core_call, row, 32);
FIELD(dynd_core_call, dim, 40);
FIELD(dynd_core_call, dim_step, 48);
FIELD(dynd_core_call, made, 56);
FIELD(dynd_core_call, failed, 64);
FIELD(dynd_core_call, make, 72);
FIELD(dynd_core_call, engine, 80);

SIZE(dynd_reduction, 48);
FIELD(dynd_reduction, size, 0);
FIELD(dynd_reduction, version, 4);
FIELD(dynd_reduction, state_size, 8);
FIELD(dynd_reduction, initialise, 16);
FIELD(dynd_reduction, accumulate, 24);
FIELD(dynd_reduction, combine, 32);
FIELD(dynd_reduction, finish, 40);

SIZE(dynd_bind, 64);
FIELD(dynd_bind, size, 0);
FIELD(dynd_bind, version, 4);
FIELD(dynd_bind, request, 8);
FIELD(dynd_bind, noperands, 12);
FIELD(dynd_bind, type, 16);
FIELD(dynd_bind, arrmeta, 24);
FIELD(dynd_bind, error, 32);
FIELD(dynd_bind, error_size, 40);
FIELD(dynd_bind, error_mode, 48);
FIELD(dynd_bind, nkeywords, 52);
FIELD(dynd_bind, keyword, 56);

SIZE(deferred_ckernel, 88);
FIELD(deferred_ckernel, size, 0);
FIELD(deferred_ckernel, version, 4);
FIELD(deferred_ckernel, prototype, 8);
FIELD(deferred_ckernel, flags, 12);
FIELD(deferred_ckernel, name, 16);
FIELD(deferred_ckernel, signature, 24);
FIELD(deferred_ckernel, doc, 32);
FIELD(deferred_ckernel, data_ptr, 40);
FIELD(deferred_ckernel, instantiate, 48);
FIELD(deferred_ckernel, retain, 56);
FIELD(deferred_ckernel, release, 64);
FIELD(deferred_ckernel, output_bound, 72);
FIELD(deferred_ckernel, output_sizes, 80);

/* plugin.h */

SIZE(dynd_host, 24);
FIELD(dynd_host, size, 0);
FIELD(dynd_host, version, 4);
FIELD(dynd_host, register_kernel, 8);
FIELD(dynd_host, set_error, 16);
