// What explain shows of a chain.
#include "dynd/kernel/chain.h"

namespace dynd {

std::string chain_text(const program &p, const chain_layout &layout) {
  static const char *const names[] = {"flat", "small_rows", "panel", "var_rows", "row", "columns", "ordered"};
  std::string text = std::string("chain ") + names[int(layout.kind)];
  if (layout.axis_size && layout.kind != chain_kind::var_rows) {
    text += " of " + std::to_string(layout.axis_size);
  }
  text += layout.streaming ? ", streaming stores:" : ":";
  for (int i = 0; i < p.nsteps; i++) {
    const program_step &step = p.steps[i];
    std::string reads, writes;
    p.for_reads(step, [&](uint8_t reg) { reads += (reads.empty() ? "r" : ", r") + std::to_string(reg); });
    p.for_writes(step, [&](uint8_t reg) { writes += (writes.empty() ? "r" : ", r") + std::to_string(reg); });
    text += step.nwrites && p.row[step.writes[0]] ? " row " : " ";
    text += writes + (writes.empty() ? "" : "=") + p.name_of(step) + "(" + reads + ")";
    if (step.nwrites) {
      uint8_t first = step.kind == step_kind::external ? p.external_registers[step.first_operand] : step.writes[0];
      text += std::string(" ") + scalar_name[size_t(p.type[first])];
    }
    text += i + 1 < p.nsteps ? ";" : "";
  }
  for (int o = 0; o < p.noutputs; o++) {
    if (p.output[o].reduced) {
      text += std::string(" reduce r") + std::to_string(p.output[o].reg);
    } else if (p.row[p.output[o].reg]) {
      text += std::string(" to rows r") + std::to_string(p.output[o].reg);
    }
  }
  return text;
}

} // namespace dynd
