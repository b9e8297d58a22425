# GCC's compiler proper on the header-only libraries of stb, preprocessed.
# Packages: cpp-12 gcc-12 libc6-dev libstb-dev
cd /usr/include
for header in stb/stb_rect_pack.h stb/stb_truetype.h stb/stb_image.h stb/stb_image_write.h \
  stb/stb_image_resize.h stb/stb_ds.h stb/stb_perlin.h stb/stb_sprintf.h stb/stb_dxt.h \
  stb/stb_connected_components.h
do
  part=$(basename "$header" .h | tr a-z A-Z)
  [ "$part" != STB_CONNECTED_COMPONENTS ] || printf '#define STBCC_GRID_COUNT_%s_LOG2 10\n' X Y
  printf '#define %s_IMPLEMENTATION\n#include <%s>\n' "$part" "$header"
done > "$HOME/stb.c"
cd "$HOME"
gcc-12 -E -P stb.c -o stb.i
$RECORD "$(gcc-12 -print-prog-name=cc1)" -quiet -fpreprocessed -O2 stb.i -o stb.s
