#include "dynd/base/interpreter.h"

namespace dynd {

interpreter_hooks the_interpreter;

} // namespace dynd
