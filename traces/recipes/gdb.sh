# gdb reading all symbols of a program built with debugging information.
# Packages: gdb gcc-12 libc6-dev libstb-dev
cat > program.c <<'C'
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_TRUETYPE_IMPLEMENTATION
#define STB_SPRINTF_IMPLEMENTATION
#include <stb/stb_truetype.h>
#include <stb/stb_image.h>
#include <stb/stb_image_write.h>
#include <stb/stb_sprintf.h>
int main(void) { return 0; }
C
gcc-12 -g3 -O2 program.c -o program -lm
$RECORD gdb -nx -batch -iex 'maintenance set worker-threads 0' -ex 'maintenance expand-symtabs' \
  -ex 'info types' -ex 'info functions' -ex 'info variables' -ex 'info scope stbi_load' \
  -ex 'info macros stbi_load' -ex 'disassemble /s stbi_load' -ex 'info line main' \
  program > answers 2>&1
