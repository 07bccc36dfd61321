#include "dynd/eval/gather.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "dynd/array/rows.h"
#include "dynd/base/errors.h"
#include "dynd/base/small_vector.h"
#include "dynd/eval/short_runs.h"
#include "dynd/eval/work.h"
#include "dynd/memory/pool.h"

namespace dynd {

namespace {

// The elements of one container, by their places; below each, dimensions of one size that were entered on the way.
//   2 * var * 3 * string: the places of the rows' elements, and 3 texts in each
struct container {
  list_places places;
  int dim = -1;   ///< of the source, along which the places count; -1: there is one place
  int slots = -1; ///< the stream of the slots that show the runs: their step is how far apart neighbours are
  small_vector<int, 8> inside;
  int64_t first = -1;          ///< not negative: the places are this one and those that follow it
  const char *there = nullptr; ///< validities of the result, of what has these elements inside
  intptr_t each = 1;           ///< elements for each of those

  /// Elements of the result.
  intptr_t total(const array_block &source) const {
    intptr_t size[max_type_streams + 1] = {places.total()};
    int n = 1;
    for (int d : inside) {
      size[n++] = source.size()[d];
    }
    return checked_count(size, n, max_scalar_size);
  }
};

// Where a stream of one source is, along the places of a container.
struct source_stream {
  const char *base;
  intptr_t stride, unit; ///< between neighbours of a run, and between places
};

// Places may be anywhere in memory: what is there is fetched so many runs before it is read.
constexpr intptr_t fetched_ahead = 16;

class gatherer {
public:
  gatherer(const char *name, std::span<const nd::array> sources, array_block &result)
      : name_(name), sources_(sources), source_(*sources[0].get()), result_(result),
        writable_(result.access != access_mode::immutable) {}

  // Makes the streams of a part of the result. `from` and `to` are the same part of the two types.
  void copy(const type_part &from, const type_part &to, const container &in) {
    const type_data *t = from.type;
    switch (t->kind) {
    case type_kind::scalar:
    case type_kind::byteswap:
    case type_kind::fixed_string:
    case type_kind::fixed_bytes:
      return copy_items(from.stream, to.stream, in);
    case type_kind::option: {
      copy_items(from.stream, to.stream, in);
      container inner = in;
      inner.there = writable_ ? result_.streams()[to.stream].address : nullptr;
      inner.each = 1;
      return copy(from.element(), to.element(), inner);
    }
    case type_kind::string:
    case type_kind::bytes:
    case type_kind::var_dim:
    case type_kind::pointer:
      return copy_rows(from, to, in);
    case type_kind::fixed_dim:
    case type_kind::strided_dim: {
      container inner = in;
      inner.inside.push_back(from.dim);
      inner.each *= source_.size()[from.dim];
      for (const nd::array &other : sources_) {
        if (other->size()[from.dim] != source_.size()[from.dim]) {
          fail(error_kind::value, std::string(name_) + ": sizes inside of the elements differ: " +
                                      std::to_string(source_.size()[from.dim]) + " and " +
                                      std::to_string(other->size()[from.dim]));
        }
      }
      result_.size()[to.dim] = source_.size()[from.dim];
      return copy(from.element(), to.element(), inner);
    }
    default:
      for (int i = 0; i < t->nfields; i++) {
        copy(from.field(i), to.field(i), in);
      }
    }
  }

  // A validity: there is an element.
  void add_validity(int to, const container &in) {
    char *valid = allocate(to, in.places.count, 1);
    in_pieces(name_, in.places.count, [&](intptr_t begin, intptr_t end) {
      for (intptr_t i = begin; i < end; i++) {
        valid[i] = in.places.start[i] >= 0;
      }
    });
  }

private:
  // Memory of that many items, as the stream of the result. A writable one has it: its pools are new.
  char *allocate(int s, intptr_t count, size_t item, slot_kind kind = slot_kind::none) {
    if (writable_) {
      return result_.streams()[s].address;
    }
    ref<buffer> memory = allocate_buffer(size_t(checked_count(&count, 1, item)) * item);
    char *address = memory->data;
    result_.streams()[s] = {address, memory.take(), kind};
    return address;
  }

  std::vector<source_stream> streams_of(int s, const container &in) const {
    std::vector<source_stream> streams;
    for (const nd::array &source : sources_) {
      intptr_t stride = in.dim < 0 ? 0 : source->strides(s)[in.dim];
      int32_t step = in.slots < 0 ? 1 : source->streams()[in.slots].step;
      streams.push_back({source->streams()[s].address, stride, start_unit(stride, step)});
    }
    return streams;
  }

  // Calls f(number, address, source) for each of the source's items that are at places begin .. end, in their order;
  // the number counts the items of the result. The address is null where there is no element.
  template <class F> void for_items(int s, const container &in, intptr_t begin, intptr_t end, F f) {
    std::vector<source_stream> streams = streams_of(s, in);
    intptr_t each = 1;
    for (int d : in.inside) {
      each *= source_.size()[d];
    }
    const list_places &p = in.places;
    for (intptr_t r = begin; r < end; r++) {
      if (intptr_t later = r + fetched_ahead; later < end && !p.source) {
        __builtin_prefetch(streams[0].base + p.start[later] * streams[0].unit);
      }
      intptr_t first = p.offsets ? p.offsets[r] : r, size = p.offsets ? p.offsets[r + 1] - first : 1;
      int32_t which = p.source ? p.source[r] : 0;
      const source_stream &from = streams[size_t(which)];
      const char *at = p.start[r] < 0 ? nullptr : from.base + p.start[r] * from.unit;
      for (intptr_t k = 0; k < size; k++) {
        intptr_t number = (first + k) * each;
        if (in.inside.empty()) {
          f(number, at, which);
        } else {
          for_inside(s, in, 0, at, which, number, f);
        }
        at += at ? from.stride : 0;
      }
    }
  }

  template <class F>
  void for_inside(int s, const container &in, int level, const char *at, int32_t which, intptr_t &number, const F &f) {
    if (level == in.inside.size()) {
      f(number++, at, which);
      return;
    }
    int d = in.inside[level];
    intptr_t stride = sources_[size_t(which)]->strides(s)[d];
    for (intptr_t i = 0; i < source_.size()[d]; i++) {
      for_inside(s, in, level + 1, at ? at + i * stride : nullptr, which, number, f);
    }
  }

  template <class F> void pieces_of(const container &in, F f) {
    if (in.places.offsets && in.inside.empty()) {
      in_pieces_of_rows(name_, in.places.offsets, in.places.count, f);
    } else {
      intptr_t each = in.total(source_) / std::max<intptr_t>(in.places.count, 1);
      in_pieces(name_, in.places.count, f, std::clamp<intptr_t>(each, 1, work_piece));
    }
  }

  // The items of what is inside of an element follow each other: it is copied as one.
  bool is_one_item(int s, const container &in, size_t &item) const {
    bool one = true;
    for (int i = in.inside.size() - 1; i >= 0; i--) {
      int d = in.inside[i];
      for (const nd::array &source : sources_) {
        one &= source_.size()[d] == 1 || source->strides(s)[d] == intptr_t(item);
      }
      item *= size_t(source_.size()[d]);
    }
    return one;
  }

  void copy_items(int from, int to, const container &in) {
    size_t single = stream_item(source_, from), item = single;
    bool one = is_one_item(from, in, item);
    char *target = allocate(to, in.total(source_), single);
    if (one && item > 0) {
      copy_elements(from, in, target, item);
    } else if (item > 0) {
      pieces_of(in, [&](intptr_t begin, intptr_t end) {
        for_items(from, in, begin, end, [&](intptr_t number, const char *at, int32_t) {
          char *place = target + size_t(number) * single;
          at ? void(std::memcpy(place, at, single)) : void(std::memset(place, 0, single));
        });
      });
    }
  }

  // Elements of `item` bytes each.
  void copy_elements(int from, const container &in, char *target, size_t item) {
    const list_places &p = in.places;
    std::vector<source_stream> streams = streams_of(from, in);
    pieces_of(in, [&](intptr_t begin, intptr_t end) {
      with_item(item, [&](auto size) {
        if (p.offsets) {
          copy_runs(p, streams.data(), target, size, begin, end);
        } else if (p.source) {
          copy_singles(
              p, [&](intptr_t i) -> const source_stream & { return streams[size_t(p.source[i])]; }, target, size, begin,
              end);
        } else {
          copy_singles(
              p, [one = streams[0]](intptr_t) { return one; }, target, size, begin, end);
        }
      });
    });
  }

  template <class Size, class StreamOf>
  static void copy_singles(const list_places &p, StreamOf stream_of, char *target, Size size, intptr_t begin,
                           intptr_t end) {
    const int64_t *start = p.start;
    for (intptr_t i = begin; i < end; i++) {
      char *to = target + size_t(i) * size;
      if (start[i] >= 0) {
        const source_stream &from = stream_of(i);
        std::memcpy(to, from.base + start[i] * from.unit, size);
      } else {
        std::memset(to, 0, size);
      }
    }
  }

  template <class Size>
  static void copy_runs(const list_places &p, const source_stream *streams, char *target, Size size, intptr_t begin,
                        intptr_t end) {
    for (intptr_t r = begin, next; r < end; r = next) {
      const source_stream from = streams[p.source ? p.source[r] : 0];
      const bool dense = from.stride == intptr_t(size) && from.unit == from.stride;
      next = dense ? p.end_of_neighbours(r, end) : r + 1;
      const char *at = from.base + p.start[r] * from.unit;
      char *to = target + size_t(p.offsets[r]) * size, *stop = target + size_t(p.offsets[next]) * size;
      if (from.stride == intptr_t(size) && stop - to >= 64) {
        std::memcpy(to, at, size_t(stop - to));
        continue;
      }
      for (; to < stop; to += size, at += from.stride) {
        std::memcpy(to, at, size);
      }
    }
  }

  // The slots of rows, texts or pointers, read once: another thread may write them. Then what they show.
  void copy_rows(const type_part &from, const type_part &to, const container &in) {
    bool pointers = from.type->kind == type_kind::pointer;
    intptr_t count = in.total(source_);
    row_extent all;
    if (!pointers && copy_following(from.stream, to.stream, in, all)) {
      return copy_following_content(from, to, all);
    }
    if (has_dense_offsets(from.stream, in)) {
      return copy_runs_of_rows(from, to, in);
    }
    new_offsets sizes(count);
    place_buffer starts(count), which(in.places.source ? (count + 1) / 2 : 0);
    auto *sources = reinterpret_cast<int32_t *>(which.fill());
    const char *there = pointers ? nullptr : in.there; // pointers say themselves what is missing
    auto read_by = [&](auto read) {
      read_rows(from.stream, in, there, read, starts.fill(), sizes.fill() + 1, in.places.source ? sources : nullptr);
    };
    if (pointers) {
      read_by([](const char *at, int32_t) {
        int64_t place;
        std::memcpy(&place, at, sizeof(place));
        return row_extent{place, place >= 0};
      });
    } else {
      read_by([&](const char *at, int32_t source) {
        return read_slot(at, sources_[size_t(source)]->streams()[from.stream].kind);
      });
    }
    make_offsets(name_, sizes.fill(), count);
    if (pointers) {
      auto *index = reinterpret_cast<int64_t *>(allocate(to.stream, count, sizeof(int64_t)));
      for (intptr_t i = 0; i < count; i++) {
        index[i] = sizes.length(i) ? sizes.at[i] : -1;
      }
    } else if (writable_) {
      auto *rows = reinterpret_cast<row_extent *>(result_.streams()[to.stream].address);
      for (intptr_t i = 0; i < count; i++) {
        rows[i] = {starts[i] < 0 ? -1 : sizes.at[i], sizes.length(i)};
      }
    } else {
      set_offsets(to.stream, sizes);
    }
    container content;
    content.places = {starts.data(), sizes.at, count, in.places.source ? sources : nullptr};
    copy_content(from, to, content);
  }

  // Whether slots are offsets one after another: then the rows of a run follow each other.
  bool has_dense_offsets(int s, const container &in) const {
    bool dense =
        !writable_ && !in.there && in.inside.empty() && in.dim >= 0 && kind_of_slots(s) == slot_kind::offsets64;
    for (const source_stream &slots : dense ? streams_of(s, in) : std::vector<source_stream>()) {
      dense &= slots.stride == sizeof(int64_t) && slots.unit == slots.stride;
    }
    return dense && std::all_of(sources_.begin(), sources_.end(),
                                [s](const nd::array &source) { return source->streams()[s].step == 1; });
  }

  // A run of such rows is a run of their elements. Each offset is read once: another thread may write them.
  void copy_runs_of_rows(const type_part &from, const type_part &to, const container &in) {
    std::optional<short_runs> cut;
    container runs = in;
    if (in.places.offsets) {
      runs.places = cut.emplace(in.places).places();
    }
    const list_places &p = runs.places;
    std::vector<source_stream> streams = streams_of(from.stream, in);
    new_offsets rows(p.total()), content_offsets(p.offsets ? p.count : 0);
    place_buffer starts(p.count);
    int64_t *size_of = rows.fill() + 1, *start_of = starts.fill();
    pieces_of(runs, [&, size_of, start_of](intptr_t begin, intptr_t end) {
      for (intptr_t r = begin; r < end; r++) {
        intptr_t first = p.offsets ? p.offsets[r] : r, count = p.offsets ? p.offsets[r + 1] - first : 1;
        if (intptr_t later = r + fetched_ahead; later < end && !p.source) {
          __builtin_prefetch(streams[0].base + p.start[later] * streams[0].unit);
        }
        auto *slots = reinterpret_cast<const int64_t *>(streams[size_t(p.source ? p.source[r] : 0)].base);
        static constexpr int64_t none[] = {0, 0};
        slots = p.start[r] < 0 ? none : slots + p.start[r];
        int64_t before = slots[0];
        start_of[r] = before;
        for (intptr_t k = 0; k < count; k++) {
          int64_t next = slots[k + 1];
          size_of[first + k] = std::max<int64_t>(0, next - before);
          before = next;
        }
      }
    });
    make_offsets(name_, rows.fill(), rows.count);
    for (intptr_t r = 0; p.offsets && r <= p.count; r++) {
      content_offsets.fill()[r] = rows.at[p.offsets[r]];
    }
    set_offsets(to.stream, rows);
    container content;
    content.places = {starts.data(), p.offsets ? content_offsets.at : rows.at, p.count, p.source};
    std::optional<short_runs> parts; // a few long rows are cut too
    if (content.places.total() > content.places.count * short_runs::together) {
      content.places = parts.emplace(content.places).places();
    }
    copy_content(from, to, content);
  }

  // Of each row where it begins, how long it is, and, where it is asked, of which source it is. Rows that are not there
  // are empty.
  template <class Read>
  void read_rows(int s, const container &in, const char *there, Read read, int64_t *start, int64_t *size,
                 int32_t *source_of) {
    pieces_of(in, [=, this, &in](intptr_t begin, intptr_t end) {
      for_items(s, in, begin, end, [=, each = in.each](intptr_t number, const char *at, int32_t source) {
        bool is_there = at && (!there || there[number / each]);
        row_extent row = is_there ? read(at, source) : row_extent{-1, 0};
        start[number] = row.size > 0 || has_no_memory(row) ? row.start : 0;
        size[number] = row.size;
        if (source_of) {
          source_of[number] = source;
        }
      });
    });
  }

  // That of all sources; none where they differ.
  slot_kind kind_of_slots(int s) const {
    slot_kind first = source_.streams()[s].kind;
    bool same = std::all_of(sources_.begin(), sources_.end(),
                            [&](const nd::array &source) { return source->streams()[s].kind == first; });
    return same ? first : slot_kind::none;
  }

  void set_offsets(int to, new_offsets &rows) {
    char *address = reinterpret_cast<char *>(rows.fill());
    result_.streams()[to] = {address, ref<counted>(rows.owner).take(), slot_kind::offsets64};
  }

  void copy_following_content(const type_part &from, const type_part &to, row_extent all) {
    short_runs runs(all.start, all.size);
    container content;
    content.places = runs.places();
    content.first = all.start;
    copy_content(from, to, content);
  }

  void copy_content(const type_part &from, const type_part &to, container &content) {
    if (writable_ && as_pool(result_.streams()[to.stream].owner)->take(content.places.total()) < 0) {
      fail(error_kind::memory, std::string(name_) + ": no memory for the rows");
    }
    if (from.has_chars()) {
      return copy_chars(from.stream + 1, to.stream + 1, content);
    }
    bool pointers = from.type->kind == type_kind::pointer;
    result_.size()[to.dim] = -1;
    content.dim = from.dim;
    content.slots = pointers ? -1 : from.stream;
    copy(from.element(), to.element(), content);
  }

  // The usual case, in one pass: slots at one distance from each other, rows that follow each other. `all` is where
  // their elements are. False where it is not so, after some slots were made.
  bool copy_following(int from, int to, const container &in, row_extent &all) {
    slot_kind kind = source_.streams()[from].kind;
    size_t item = slot_size(kind);
    bool one = is_one_item(from, in, item);
    if (in.first < 0 || !one || sources_.size() > 1 || source_.streams()[from].step != 1) {
      return false;
    }
    source_stream slots = streams_of(from, in)[0];
    if (!in.inside.empty() && slots.stride != intptr_t(item) && in.places.total() > 1) {
      return false;
    }
    const char *address = slots.base + in.first * slots.unit;
    intptr_t step = in.inside.empty() ? slots.stride : intptr_t(slot_size(kind)), count = in.total(source_);
    return kind == slot_kind::offsets64 ? read_following<slot_kind::offsets64>(address, step, count, to, in, all)
           : kind == slot_kind::pairs64 ? read_following<slot_kind::pairs64>(address, step, count, to, in, all)
                                        : read_following<slot_kind::offsets32>(address, step, count, to, in, all);
  }

  template <slot_kind Kind>
  bool read_following(const char *slot, intptr_t step, intptr_t count, int to, const container &in, row_extent &all) {
    new_offsets offsets(writable_ ? 0 : count);
    int64_t *end = offsets.fill() + 1;
    auto *rows = reinterpret_cast<row_extent *>(result_.streams()[to].address);
    int64_t total = offsets.fill()[0] = 0, first = -1;
    bool follow = true;
    if (Kind == slot_kind::offsets64 && step == sizeof(int64_t) && !in.there && !writable_ && count > 0) {
      const auto *from = reinterpret_cast<const int64_t *>(slot); // each row ends where the next begins
      const int64_t base = from[0];
      int64_t before = base, falls = 0; // each offset is read once: another thread may write them
      in_chunks(name_, count, 1, [&](intptr_t, intptr_t begin, intptr_t stop) {
        int64_t last = before, negative = falls; // registers
        for (intptr_t i = begin; i < stop; i++) {
          int64_t next = from[i + 1];
          negative |= next - last;
          end[i] = next - base;
          last = next;
        }
        before = last;
        falls = negative;
      });
      if (falls >= 0) {
        set_offsets(to, offsets);
        all = {base, before - base};
        return true;
      }
    }
    in_chunks(name_, count, 1, [&](intptr_t, intptr_t begin, intptr_t stop) {
      int64_t before = total, origin = first; // registers
      bool all_follow = follow;
      for (intptr_t i = begin; i < stop && all_follow; i++) {
        row_extent row = read_slot(slot + i * step, Kind);
        row = in.there && !in.there[i / in.each] ? row_extent{-1, 0} : row;
        origin = origin < 0 && row.size ? row.start : origin;
        all_follow = row.size == 0 || (row.size > 0 && row.start == origin + before);
        if (writable_) {
          rows[i] = {has_no_memory(row) ? -1 : before, row.size};
        }
        before += row.size;
        if (!writable_) {
          end[i] = before;
        }
      }
      total = before;
      first = origin;
      follow = all_follow;
    });
    if (follow && !writable_) {
      set_offsets(to, offsets);
    }
    all = {std::max<int64_t>(first, 0), total};
    return follow;
  }

  void copy_chars(int from, int to, const container &in) {
    char *target = allocate(to, in.places.total(), 1);
    pieces_of(in, [&](intptr_t begin, intptr_t end) {
      const list_places &p = in.places;
      for (intptr_t r = begin, next; r < end; r = next) {
        const char *base = sources_[p.source ? size_t(p.source[r]) : 0]->streams()[from].address;
        next = p.end_of_neighbours(r, end);
        if (intptr_t later = r + fetched_ahead; later < end && !p.source) {
          __builtin_prefetch(base + p.start[later]);
        }
        if (size_t size = size_t(p.offsets[next] - p.offsets[r])) {
          std::memcpy(target + p.offsets[r], base + p.start[r], size);
        }
      }
    });
  }

  const char *name_;
  std::span<const nd::array> sources_;
  const array_block &source_; // the first of them
  array_block &result_;
  bool writable_; // it was made by new_empty
};

ref<array_block> new_result_list(ndt::type element, intptr_t count) {
  ref<array_block> result = new_block(ndt::make_strided_dim(element).get(), access_mode::immutable, flag_ours);
  std::fill_n(result->size(), result->all_ndim, 0);
  result->size()[0] = count;
  return result;
}

nd::array finished(ref<array_block> result) {
  set_c_order(*result);
  note_density(*result);
  return nd::array(std::move(result));
}

container list_container(const list_places &places) {
  container in;
  in.places = places;
  in.dim = 0;
  return in;
}

} // namespace

nd::array gather(const char *name, std::span<const nd::array> lists, const list_places &places) {
  const nd::array &list = lists[0];
  ref<array_block> result = new_result_list(list.type().element(), places.total());
  gatherer(name, lists, *result)
      .copy(type_part{list->type}.element(), type_part{result->type}.element(), list_container(places));
  return finished(std::move(result));
}

nd::array gather(const char *name, const nd::array &list, const list_places &places) {
  return gather(name, std::span(&list, 1), places);
}

nd::array gather_or_missing(const char *name, const nd::array &list, const list_places &places) {
  if (list->type->element->kind == type_kind::option) {
    return gather(name, list, places); // what is not there has a validity of 0
  }
  ref<array_block> result = new_result_list(ndt::make_option(list.type().element()), places.total());
  gatherer copier(name, std::span(&list, 1), *result);
  type_part option = type_part{result->type}.element();
  copier.add_validity(option.stream, list_container(places));
  copier.copy(type_part{list->type}.element(), option.element(), list_container(places));
  return finished(std::move(result));
}

nd::array gather_whole(const nd::array &a, access_mode access) {
  a.eval();
  ref<array_block> result;
  if (access == access_mode::immutable) {
    result = new_block(a->type, access, flag_ours);
    std::fill_n(result->size(), result->all_ndim, 0);
  } else {
    result = new_empty(a->type, a->size());
    result->access = access;
  }
  bool list = a.ndim() > 0 && !a->is_var(0);
  short_runs runs(0, list ? a.size(0) : 1);
  type_part part{a->type};
  container all;
  all.places = runs.places();
  all.first = 0;
  if (list) {
    result->size()[0] = a.size(0);
    all.dim = 0;
    part = part.element();
  }
  gatherer("copy", std::span(&a, 1), *result).copy(part, part, all);
  return finished(std::move(result));
}

} // namespace dynd
