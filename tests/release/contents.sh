#!/usr/bin/env bash
# Usage: contents.sh SOURCES PREFIX GLIBC|any [PATH...]
# What an installation for every MPI has in it: all its parts; the exported calls of cmake/libscr.map and no others;
# libraries that each Linux has, and no MPI among them; no symbol of a C library newer than GLIBC; the licences of all crates;
# none of these PATHs, which are of the machine that it was built on.
set -euo pipefail

sources=$1 prefix=$2 glibc=$3
shift 3
failed=0
wrong() {
    echo "FAILED: $*"
    failed=1
}

for file in bin/{scr,scr_index} lib/libscr.{so,a} include/{scr.h,scr.hpp,scr_session.h,scrf.h} lib/pkgconfig/{scr,scrf}.pc \
    share/scr/cmake/scr-{config,fortran}.cmake share/scr/fortran/{scrf.F90,scrf_classic.f90,scrf.mk} \
    share/scr/python/scr/__init__.py share/scr/{scr.conf.sample,examples/Makefile} share/man/man{1/scr.1,3/SCR_Init.3} \
    share/bash-completion/completions/scr share/zsh/site-functions/_scr share/fish/vendor_completions.d/scr.fish \
    share/doc/scr/{LICENSE-MIT,LICENSE-APACHE,THIRD-PARTY-NOTICES.md,README.md}; do
    [[ -s $prefix/$file ]] || wrong "$file is missing"
done
compgen -G "$prefix/share/scr/modulefiles/scr/[0-9]*" >/dev/null || wrong "the module file is missing"

calls=$(sed -n '/global:/,/local:/s/^ *\([A-Za-z_]*\);$/\1/p' "$sources/cmake/libscr.map" | sort)
exported=$(nm -D --defined-only "$prefix/lib/libscr.so" | awk '{ print $3 }' | sort)
diff <(echo "$calls") <(echo "$exported") || wrong "libscr.so exports others than these calls"

# What each Linux has: the parts of the C library, and what the compilers of all programs bring.
usual='^(libc\.so\.6|libm\.so\.6|libdl\.so\.2|libpthread\.so\.0|librt\.so\.1|libgcc_s\.so\.1|ld-linux-x86-64\.so\.2)$'
programs=0
while read -r file; do
    [[ $(head -c 4 "$file" | tail -c 3) == ELF ]] || continue
    programs=$((programs + 1))
    dynamic=$(readelf -dW "$file")
    needed=$(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' <<<"$dynamic")
    ! grep -Ev "$usual" <<<"$needed" || wrong "$file needs these"
    # The directory of the library itself, as $ORIGIN, is no path of a machine.
    ! grep -E '\((RPATH|RUNPATH)\).*(\[|:)/' <<<"$dynamic" || wrong "$file has this run path"
    if [[ $glibc != any ]]; then
        newest=$(readelf -VW "$file" | grep -oE 'GLIBC_[0-9.]+' | sort -Vu | tail -n 1)
        [[ $(printf '%s\n' "$newest" "GLIBC_$glibc" | sort -V | tail -n 1) == "GLIBC_$glibc" ]] ||
            wrong "$file needs $newest"
        echo "$(basename "$file"): $newest, $(tr '\n' ' ' <<<"$needed")"
    fi
done < <(find "$prefix" -type f -size +3c)
[[ $programs -ge 2 ]] || wrong "$programs libraries and programs"

notices=$prefix/share/doc/scr/THIRD-PARTY-NOTICES.md
while read -r crate version; do
    grep -q "^| $crate | $version |" "$notices" || wrong "$crate $version is not in the notices"
done < <(cd "$sources" && cargo tree --locked -p scr-rs --no-default-features --features any-mpi,cli -e normal,no-proc-macro \
    --target x86_64-unknown-linux-gnu --prefix none --format '{p}' | sed -nE 's/^([^ ]+) v([^ ]+).*/\1 \2/p' |
    grep -v '^scr-' | sort -u)

for path in "$@"; do
    ! grep -rlF "$path" "$prefix" || wrong "these files name $path"
done
echo "$programs libraries and programs, $(wc -l <<<"$exported") calls, $(du -sh "$prefix" | cut -f 1)"
exit "$failed"
