#include "dynd/eval/group.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <new>
#include <utility>

#include "dynd/array/layout.h"
#include "dynd/base/errors.h"
#include "dynd/base/interpreter.h"
#include "dynd/eval/direct.h"
#include "dynd/eval/space.h"

namespace dynd {

namespace {

std::mutex graph_mutex;
std::condition_variable something_finished;

claimed_group *all_claimed = nullptr; // under graph_mutex

void set_states(claimed_group &group, array_state state) {
  for (int i = 0; i < group.count; i++) {
    group.node[i]->state.store(state, std::memory_order_release);
  }
}

void claim(claimed_group &group) {
  set_states(group, array_state::running);
  group.thread = pthread_self();
  group.next = all_claimed;
  all_claimed = &group;
}

void unclaim(const claimed_group &group) {
  claimed_group **link = &all_claimed;
  while (*link != &group) {
    link = &(*link)->next;
  }
  *link = group.next;
}

void begin_as_child() {
  new (&something_finished) std::condition_variable; // threads that are not here wait for the old one
  claimed_group *group = std::exchange(all_claimed, nullptr);
  for (claimed_group *next; group; group = next) {
    next = group->next;
    if (pthread_equal(group->thread, pthread_self())) {
      group->next = all_claimed;
      all_claimed = group;
    } else {
      set_states(*group, array_state::lazy);
    }
  }
  graph_mutex.unlock();
}

[[maybe_unused]] const int at_fork =
    pthread_atfork([] { graph_mutex.lock(); }, [] { graph_mutex.unlock(); }, begin_as_child);

array_state state_of(const array_block *block) { return block->state.load(std::memory_order_acquire); }

// The registers that an operation adds, at most: its operands in our order of bytes, converted, their validities, the
// result. Where one operand decides alone, both are bools besides, and inverted (fused_task::kleene_valid).
int registers_of(const lazy_operation &op) {
  bool decided = !op.of_rows && !op.external && operation_of(op.op).decided != decision::none;
  return op.of_rows ? 20 : decided ? 14 : 3 * op.ninputs + 2;
}

// Members of choices: there may be many times as many as elements, and they are found again as fast as they are read.
bool is_never_stored(const lazy_operation &op) { return op.ninputs == 1 && (op.input[0]->flags & flag_numbers); }

// One attempt to collect, under the lock.
class collector {
public:
  collector(const group_request &request, claimed_group &group) : request_(request), group_(group) { group.count = 0; }

  array_block *first = nullptr; ///< has to be computed first
  bool busy = false;            ///< another thread computes an array that the group needs

  bool collect() {
    if (request_.root) {
      visit(request_.root);
    }
    for (int i = 0; i < request_.ninputs; i++) {
      visit(request_.inputs[i]);
    }
    if (first || busy) {
      return false;
    }
    mark_outputs();
    if (group_.count > 1 && (nsources_ > max_group_sources || nregisters_ > max_group_registers ||
                             nstreams_ + written_streams() > max_group_streams)) {
      first = group_.node[(group_.count - 1) / 2]; // never the root, which is the last
    }
    return !first;
  }

private:
  // An array with another owner is an output, unless it is to stay lazy. References from within the group, or of a last
  // use, do not count.
  void mark_outputs() {
    for (int i = 0; i < group_.count; i++) {
      array_block *node = group_.node[i];
      intptr_t inside = 0;
      for (int j = 0; j < group_.count; j++) {
        const lazy_operation &op = *group_.node[j]->lazy;
        inside += std::count(op.input, op.input + op.ninputs, node);
      }
      for (int j = 0; j < request_.ninputs; j++) {
        inside += request_.inputs[j] == node && (request_.last_use >> j & 1);
      }
      bool wanted = node->refs.load(std::memory_order_acquire) > inside && !is_never_stored(*node->lazy);
      group_.output[i] = node == request_.root || wanted;
    }
  }

  // All outputs have the group's space, whose slots are streams of the call too.
  int written_streams() const {
    auto wanted = std::count(group_.output, group_.output + group_.count, true);
    return (request_.noutputs + int(wanted) + 1) * group_.node[0]->nstreams;
  }

  void visit(array_block *block) {
    if (first || busy) {
      return;
    }
    switch (state_of(block)) {
    case array_state::ready:
      add_source(block);
      return;
    case array_state::running:
      busy = true;
      return;
    case array_state::lazy:
      break;
    }
    if (std::find(group_.node, group_.node + group_.count, block) != group_.node + group_.count) {
      return;
    }
    bool is_root = block == request_.root;
    if (!is_root && (group_.count >= max_group - 1 || !joins(*block))) {
      first = block;
      return;
    }
    for (int i = 0; i < block->lazy->ninputs; i++) {
      visit(block->lazy->input[i]);
    }
    if (!first && !busy) {
      if (group_.count >= max_group) {
        first = group_.node[group_.count - 1];
        return;
      }
      nrows_ += block->lazy->of_rows;
      nregisters_ += registers_of(*block->lazy);
      group_.node[group_.count++] = block;
    }
  }

  // It is numbers and has the space of the group; or it is one value for each row of an array that has.
  bool joins(const array_block &block) const {
    const lazy_operation &op = *block.lazy;
    return op.of_elements ? false
           : op.of_rows   ? request_.rows && nrows_ < max_group_rows && same_space(*op.input[0], request_.like)
                          : same_space(block, request_.like);
  }

  void add_source(const array_block *block) {
    int seen = std::min(nsources_, max_group_sources);
    if (std::find(source_, source_ + seen, block) != source_ + seen) {
      return;
    }
    if (nsources_ < max_group_sources) {
      source_[nsources_] = block;
    }
    nsources_++;
    nstreams_ += block->nstreams;
    nregisters_ += 2;
  }

  const group_request &request_;
  claimed_group &group_;
  int nsources_ = 0, nstreams_ = 0, nregisters_ = 0, nrows_ = 0;
  const array_block *source_[max_group_sources];
};

size_t bytes_of(const array_block &block) {
  if (block.flags & flag_numbers) {
    return 0;
  }
  if (block.flags & flag_dense) {
    return size_t(block.count) * block.item_size();
  }
  size_t item = 0;
  for (int s = block.type->var_count; s < block.nstreams; s++) {
    item += stream_item(block, s);
  }
  return size_t(nd::count_elements(block)) * item;
}

// What is below a new lazy array: how many lazy operations, and the bytes of the different arrays that they keep alive,
// of these the inputs' own.
struct lazy_cost {
  int operations = 0;
  size_t held = 0, held_by_inputs = 0;
};

lazy_cost cost_of(array_block *const *inputs, int ninputs) {
  bool lazy = false;
  for (int i = 0; i < ninputs; i++) {
    lazy |= state_of(inputs[i]) != array_state::ready;
  }
  std::unique_lock lock(graph_mutex, std::defer_lock);
  if (lazy) {
    lock.lock();
  }
  lazy_cost cost;
  const array_block *seen[4 * max_group];
  int nseen = 0;
  auto visit = [&](auto &self, array_block *const *blocks, int count) -> void {
    for (int i = 0; i < count; i++) {
      const array_block *block = blocks[i];
      if (std::find(seen, seen + nseen, block) != seen + nseen) {
        continue; // a * a holds one array
      }
      if (nseen == int(std::size(seen))) {
        cost.operations = max_group; // more than a group takes
        return;
      }
      seen[nseen++] = block;
      if (state_of(block) == array_state::ready) {
        size_t bytes = bytes_of(*block);
        cost.held += bytes;
        cost.held_by_inputs += blocks == inputs ? bytes : 0;
      } else {
        cost.operations++;
        self(self, block->lazy->input, block->lazy->ninputs);
      }
    }
  };
  visit(visit, inputs, ninputs);
  return cost;
}

constexpr size_t lazy_budget = size_t(1) << 32; // bytes that all lazy arrays of the process may keep alive

} // namespace

bool may_be_lazy(array_block *const *inputs, int ninputs, size_t bytes, const settings &how, size_t &held_by_inputs) {
  auto is_ours = [](const array_block *input) { return input->flags & flag_ours; };
  if (how.eager || bytes < lazy_from || !std::all_of(inputs, inputs + ninputs, is_ours)) {
    return false;
  }
  lazy_cost cost = cost_of(inputs, ninputs);
  held_by_inputs = cost.held_by_inputs;
  return cost.operations + 1 < max_group && cost.held <= 4 * bytes &&
         size_t(lazy_bytes.load(std::memory_order_relaxed)) + cost.held_by_inputs < lazy_budget;
}

void make_lazy(array_block *result, const lazy_operation &operation, array_block *const *inputs) {
  auto *lazy = reinterpret_cast<lazy_operation *>(small_data(result));
  *lazy = operation;
  if (lazy->external) {
    retain(lazy->external);
  }
  for (int i = 0; i < lazy->ninputs; i++) {
    retain(inputs[i]);
    lazy->input[i] = inputs[i];
  }
  lazy_bytes.fetch_add(intptr_t(lazy->held), std::memory_order_relaxed);
  result->lazy = lazy;
  result->state.store(array_state::lazy, std::memory_order_release);
}

std::vector<ref<array_block>> inputs_of(array_block *block, ref<counted> &external) {
  std::vector<ref<array_block>> inputs;
  std::lock_guard lock(graph_mutex);
  if (state_of(block) == array_state::lazy) {
    for (int i = 0; i < block->lazy->ninputs; i++) {
      inputs.push_back(ref<array_block>::share(block->lazy->input[i]));
    }
    external = ref<counted>::share(block->lazy->external);
  }
  return inputs;
}

bool claim_group(const group_request &request, claimed_group &group) {
  for (;;) {
    ref<array_block> first;
    {
      std::unique_lock lock(graph_mutex, std::defer_lock);
      while (!lock.try_lock()) {
        // Wait without the interpreter's lock, and never take that back while holding graph_mutex: a thread that
        // finishes a group may hold the interpreter's lock and want graph_mutex.
        without_interpreter pause;
        std::lock_guard let_through(graph_mutex);
      }
      if (request.root && state_of(request.root) == array_state::ready) {
        return false;
      }
      collector attempt(request, group);
      if (attempt.collect()) {
        if (group.count) {
          claim(group);
        }
        return true;
      }
      first = ref<array_block>::share(attempt.first);
      if (attempt.busy && is_inside_handler()) {
        group.count = 0;
        fail(error_kind::internal, "these values are being computed; a signal handler cannot wait for them");
      }
      if (attempt.busy) {
        // The interpreter's lock must not be taken back while graph_mutex is held.
        lock.unlock();
        without_interpreter pause;
        lock.lock();
        collector again(request, group);
        again.collect();
        if (again.busy) {
          something_finished.wait_for(lock, std::chrono::milliseconds(50));
        }
        lock.unlock();
        if (ask_now_and_then()) { // nothing is claimed
          group.count = 0;
          fail(error_kind::cancelled, "interrupted while another thread computes these values");
        }
      }
      group.count = 0; // collected, but not claimed: another thread may compute it from here on
    }
    if (first) {
      materialize(first.get());
    }
  }
}

void finish_group(claimed_group &group) {
  if (group.count == 0) {
    return;
  }
  struct {
    array_block *node;
    int ninputs;
    counted *external;
  } done[max_group];
  int count = 0;
  {
    std::lock_guard lock(graph_mutex);
    unclaim(group);
    for (int i = 0; i < group.count; i++) {
      array_block *node = group.node[i];
      node->state.store(group.output[i] ? array_state::ready : array_state::lazy, std::memory_order_release);
      if (group.output[i]) { // the others may be gone as soon as their owners drop them
        retain(node);
        done[count++] = {node, std::exchange(node->lazy->ninputs, uint8_t(0)),
                         std::exchange(node->lazy->external, nullptr)};
      }
    }
  }
  something_finished.notify_all();
  for (int i = 0; i < count; i++) {
    lazy_operation *op = done[i].node->lazy;
    lazy_bytes.fetch_sub(intptr_t(op->held), std::memory_order_relaxed);
    std::for_each_n(op->input, done[i].ninputs, [](array_block *input) { release(input); });
    if (done[i].external) {
      release(done[i].external);
    }
  }
  std::for_each_n(done, count, [](auto &finished) { release(finished.node); });
  group.count = 0;
}

void abandon_group(claimed_group &group) noexcept {
  if (group.count == 0) {
    return;
  }
  {
    std::lock_guard lock(graph_mutex);
    unclaim(group);
    set_states(group, array_state::lazy);
  }
  something_finished.notify_all();
  group.count = 0;
}

} // namespace dynd
