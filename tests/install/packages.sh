#!/usr/bin/env bash
# Usage: packages.sh SOURCE BUILD CMAKE PROFILE SHARED
# What is installed has no debug information where the profile has none, can be stripped, loaded as an
# environment module, and removed again; CPack makes packages of it; the presets can be read. Run through
# tests/in_empty_directory.sh.
set -euo pipefail

source=$1 build=$2 cmake=$3 profile=$4 shared=$5

fail() {
    echo "FAILED: $1"
    [[ ! -f log ]] || tail -n 40 log
    exit 1
}

# The record of the user's last installation stays.
manifest=$build/install_manifest.txt
[[ ! -f $manifest ]] || cp "$manifest" manifest.kept
restore() {
    rm -f "$manifest"
    [[ ! -f manifest.kept ]] || cp manifest.kept "$manifest"
}
trap restore EXIT

"$cmake" --install "$build" --prefix "$PWD/plain" >log 2>&1 || fail "it is not installed"
cp "$manifest" manifest.plain
library=$(find plain -name libscr.so.3 -o -name libscr.a | sort | tail -n 1)
for file in plain/bin/scr "$(realpath "$library")" "$(dirname "$library")/libscr.a"; do
    if [[ $profile == release || $profile == minsizerel ]]; then
        ! readelf -SW "$file" 2>/dev/null | grep -q ' \.debug_info ' || fail "$file has debug information"
    fi
    echo "$(basename "$file"): $(stat -c %s "$file") bytes"
done

"$cmake" --install "$build" --prefix "$PWD/stripped" --strip >log 2>&1 || fail "--strip"
if [[ $shared == ON ]]; then
    stripped=$(find stripped -name libscr.so.3)
    ! readelf -SW "$stripped" | grep -q ' \.symtab ' || fail "--strip leaves symbols in $stripped"
    diff <(nm -D --defined-only "$library" | awk '{print $3}') \
        <(nm -D --defined-only "$stripped" | awk '{print $3}') || fail "--strip takes calls away"
fi
! readelf -SW stripped/bin/scr | grep -q ' \.symtab ' || fail "--strip leaves symbols in scr"
stripped/bin/scr params >/dev/null || fail "the stripped command does not run"

# The module file, with the commands of Environment Modules that it uses; and by a module system if
# there is one. Each directory that it names exists.
module=$(find plain -path '*modulefiles/scr/*' -type f)
directories() {
    sed -nE "s/^(prepend-path|append-path) [A-Z_]+ //p" || true
}
if command -v tclsh >/dev/null; then
    cat >module.tcl <<'END'
foreach name {module-whatis conflict} { proc $name {args} {} }
proc prepend-path {name path} { puts "prepend-path $name $path" }
set ModulesCurrentModulefile [lindex $argv 0]
source $ModulesCurrentModulefile
END
    tclsh module.tcl "$PWD/$module" >loaded || fail "the module file is wrong"
    [[ $(grep -c . loaded) -ge 4 ]] || fail "the module file does little: $(cat loaded)"
    while read -r directory; do
        [[ $directory == "$PWD"/plain* && -d $directory ]] || fail "the module names $directory"
    done < <(directories <loaded)
    echo "module: $(sed 's/^prepend-path \([A-Z_]*\) .*/\1/' loaded | tr '\n' ' ')"
fi

"$cmake" -DMANIFEST="$PWD/manifest.plain" -P "$source/cmake/uninstall.cmake" >log 2>&1 || fail "uninstall"
[[ ! -e plain ]] || fail "uninstall leaves: $(find plain | head)"
! "$cmake" -DMANIFEST="$PWD/none" -P "$source/cmake/uninstall.cmake" >log 2>&1 || fail "no manifest"
# CMake breaks the message into lines.
tr -s ' \n' ' ' <log | grep -q "nothing was installed from this build directory" || fail "$(cat log)"
"$cmake" --build "$build" --target help >targets
grep -q uninstall targets || fail "there is no target uninstall"
echo "uninstall: $(wc -l <manifest.plain) files"

cpack=$(dirname "$cmake")/cpack
generators=TGZ
! command -v dpkg-shlibdeps >/dev/null || generators="TGZ;DEB"
# Of what was installed above, as cpack would first build all again.
"$cpack" --config "$build/CPackConfig.cmake" -G "$generators" -B "$PWD/packages" \
    -D CPACK_INSTALL_CMAKE_PROJECTS= -D "CPACK_INSTALLED_DIRECTORIES=$PWD/stripped;/usr" >log 2>&1 || fail "cpack"
tar -tzf packages/*.tar.gz >contents
for file in bin/scr include/scr.h share/scr/scr.conf.sample; do
    grep -q "/$file$" contents || fail "$file is not in the archive"
done
echo "archive: $(basename packages/*.tar.gz), $(wc -l <contents) files, $(stat -c %s packages/*.tar.gz) bytes"
if [[ $generators == *DEB ]]; then
    dpkg-deb -c packages/*.deb >contents
    grep -q ' ./usr/bin/scr$' contents || fail "the command is not in the Debian package"
    depends=$(dpkg-deb -f packages/*.deb Depends)
    [[ $depends == *libc6* ]] || fail "the Debian package depends on $depends"
    [[ $shared == OFF || $depends == *mpi* ]] || fail "the Debian package depends on no MPI: $depends"
    echo "Debian package: $(basename packages/*.deb), depends on $depends"
fi

if [[ $(printf '%s\n' 3.25 "$("$cmake" --version | sed -n 's/^cmake version //p')" | sort -V | head -n 1) == 3.25 ]]; then
    (cd "$source" && "$cmake" --list-presets=all) >log 2>&1 || fail "the presets cannot be read"
    [[ $(grep -c '"default"' log) -eq 5 ]] || fail "a preset is missing"
    echo "presets: $(grep -c '^ *"' log)"
fi
