/* What wrappers of C functions share: blocks of any sizes, also of those that only a view can have, and values that may
 * be missing. Run by tools/check_abi.sh, which makes an overflow a trap. */
#include "dynd/abi/arguments.h"

static int failures = 0;
#define CHECK(condition) ((condition) ? (void)0 : (void)(failures++, printf("%d: %s\n", __LINE__, #condition)))

static const int64_t large = INT64_C(1) << 40;

static void finds_dense_blocks(void) {
  const int64_t size[2] = {2, 3}, stretched[3] = {large, large, large}, none[3] = {large, large, 0};
  const intptr_t c_order[2] = {24, 8}, f_order[2] = {8, 16}, still[3] = {0, 0, 0};
  intptr_t stride[3];
  CHECK(dynd_is_dense(size, c_order, 2, 8, 'C') && !dynd_is_dense(size, c_order, 2, 8, 'F'));
  CHECK(dynd_is_dense(size, f_order, 2, 8, 'F') && !dynd_is_dense(size, f_order, 2, 8, 'C'));
  CHECK(!dynd_is_dense(stretched, still, 3, 8, 'C') && !dynd_is_dense(stretched, still, 3, 8, 'F'));
  CHECK(dynd_is_dense(none, still, 3, 8, 'C') && dynd_is_dense(none, still, 3, 8, 'F'));
  dynd_dense_strides(size, 2, 8, 'C', stride);
  CHECK(stride[0] == 24 && stride[1] == 8);
  dynd_dense_strides(none, 3, 8, 'F', stride);
  CHECK(stride[0] == 8);
}

static void has_room_for_what_fits(dynd_frame *frame) {
  dynd_room room = {NULL, 0};
  const int64_t none[3] = {large, large, 0}, much[2] = {large, large}, wrong[2] = {-1, 2}, few[2] = {2, 3};
  CHECK(dynd_room_for(&room, frame, none, 3, 8) != NULL);
  CHECK(dynd_room_for(&room, frame, much, 2, 8) == NULL && dynd_room_for(&room, frame, wrong, 2, 8) == NULL);
  CHECK(dynd_room_for(&room, frame, few, 2, 8) != NULL && room.bytes >= 48);
}

/* Any byte but 0 says that a value is there. */
static void keeps_what_is_there(dynd_frame *frame) {
  char a[4] = {1, 2, 0, (char)255}, b[4] = {1, 1, 1, 4}, *rows[2] = {a, b};
  const intptr_t stride[2] = {1, 1};
  const int64_t size = 4;
  dynd_room room = {NULL, 0};
  int64_t *kept = dynd_keep(&room, frame, size, rows, stride, 2);
  CHECK(kept && kept[4] == 3 && kept[0] == 0 && kept[1] == 1 && kept[2] == 3);
  CHECK(dynd_any_missing(a, &size, stride, 1) && !dynd_any_missing(b, &size, stride, 1));
}

int main(void) {
  ckernel_builder_struct builder;
  dynd_frame frame;
  CHECK(ckernel_builder_construct(&builder) == dynd_ok && dynd_frame_construct(&frame, &builder) == dynd_ok);
  finds_dense_blocks();
  has_room_for_what_fits(&frame);
  keeps_what_is_there(&frame);
  dynd_frame_destruct(&frame);
  ckernel_builder_destruct(&builder);
  return failures != 0;
}
