#!/usr/bin/env bash
# Compile all C code for 64-bit ARM with warnings as errors, and run tests of the core on an
# emulated processor. Run it in the project's folder after `make .venv/built`. Arguments name tests
# to run instead of the tests of heap. It requires the network and Debian 12's gcc-aarch64-linux-gnu
# and qemu-user-static. Python and the libraries for ARM are unpacked under build/aarch64; nothing
# is installed. It takes 11 minutes of CPU time and is therefore not part of `make test`.
#
# On 2026-11-22 with gcc 12.2, Python 3.11.2 and numpy 2.4.6 for ARM: no warning, and all 369 tests
# of heap and of the agreement of the engines (3 drawn examples each) passed.
set -euo pipefail
here=$PWD/build/aarch64
root=$here/root
export PATH=$PWD/.venv/bin:$PATH
mkdir -p "$here"/apt/{lists,archives}/partial "$here/packages" "$root"

# Fetch Python for ARM from Debian with a separate configuration of apt.
if ! test -e "$root/usr/bin/python3.11"; then
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main" \
    > "$here/apt/sources.list"
  options=(-q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=root
    -o Dir::Etc::SourceList="$here/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o Dir::State::Lists="$here/apt/lists" -o Dir::State::Status=/dev/null -o Dir::Cache="$here/apt")
  apt-get "${options[@]}" update
  (cd "$here/packages" && apt-get "${options[@]}" download \
    python3.11-minimal libpython3.11-{minimal,stdlib,dev} libc6 libstdc++6 libgcc-s1 zlib1g libexpat1 libssl3 \
    libffi8 libbz2-1.0 liblzma5 libsqlite3-0 libuuid1 libcrypt1)
  for package in "$here"/packages/*.deb; do dpkg -x "$package" "$root"; done
fi
cat > "$here/python" <<END
#!/bin/sh
exec qemu-aarch64-static -L $root $root/usr/bin/python3.11 "\$@"
END
chmod +x "$here/python"

cat > "$here/cross.ini" <<END
[binaries]
c = 'aarch64-linux-gnu-gcc'
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
python = '$here/python'
exe_wrapper = ['qemu-aarch64-static', '-L', '$root']

[built-in options]
c_args = ['-idirafter', '$root/usr/include']

[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
END
rm -f "$here"/*.whl
_PYTHON_HOST_PLATFORM=linux-aarch64 pip wheel --quiet --no-build-isolation --no-deps --wheel-dir "$here" . \
  -Cbuild-dir="$here/meson" -Csetup-args=--cross-file="$here/cross.ini"
pip install --quiet --disable-pip-version-check --upgrade --target "$here/site" --only-binary :all: --python-version 3.11 \
  --platform linux_aarch64 --platform manylinux2014_aarch64 --platform manylinux_2_28_aarch64 \
  "$here"/*.whl pytest hypothesis

PYTHONPATH=$here/site SIMALLOC_TRACES=$PWD/traces SIMALLOC_EXAMPLES=3 \
  "$here/python" -P -m pytest -q -p no:cacheprovider -k 'not shipped_trace' \
  "${@:-tests/unit/heap}" tests/property/test_engines_agree.py
