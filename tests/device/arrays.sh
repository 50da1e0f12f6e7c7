#!/usr/bin/env bash
# Usage: arrays.sh sample|SEEDS DRIVER PROGRAM LAUNCHER...
# Random fields in memory of the host and of devices: written, lost with a node, and restored by as many ranks and by
# others; and a driver that fails at a call in a checkpoint. SEEDS is the number of programs. DRIVER is a directory with a libcuda.so.1
# and a libamdhip64.so.6, which are used in turns, or "-" for the CUDA of the system. Run through tests/in_empty_directory.sh.
set -euo pipefail

seeds=$1 driver=$2 program=$3
functions=(cuPointerGetAttribute cuPointerGetAttributes cuCtxSynchronize cuMemcpyDtoHAsync_v2 cuMemcpy2DAsync_v2
    cuMemcpy3DAsync_v2 cuStreamSynchronize cuEventSynchronize cuCtxPushCurrent_v2
    hipPointerGetAttributes hipDeviceSynchronize hipMemcpyDtoHAsync hipMemcpy2DAsync hipMemcpy3DAsync hipStreamSynchronize)
calls=(1 2 5)
if [[ $seeds == sample ]]; then
    seeds=2 functions=(cuCtxSynchronize cuMemcpyDtoHAsync_v2 hipMemcpy2DAsync) calls=(1 3)
fi
shift 3
# shellcheck disable=SC2034 # used by lib.sh
launcher=("$@")
# shellcheck source=tests/mpi/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../mpi/lib.sh"

[[ $driver == - ]] || export LD_LIBRARY_PATH=$driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export SCR_CACHE_BYPASS=0 SCR_CACHE_SIZE=2 SCR_COPY_TYPE=XOR SCR_JOB_ID=arrays
ecc='CUDA_ERROR_ECC_UNCORRECTABLE|hipErrorECCNotCorrectable'
on_devices=0 placed="n0 n1 n2" others=(n0 n1 n2 n3 n4)

# run "NODE..." ARGUMENT...: to its end.
run() {
    begin "$1" "$program" "${@:2}"
    bury || fail "$*"
    on_devices=$((on_devices + $(sed -n 's/^arrays: .* \([0-9]*\) not in plain memory$/\1/p' log)))
}

fresh() {
    rm -rf .scr a.* b after "${nodes:?}"
}

# driven NUMBER: by CUDA, or by HIP for an even number.
driven() {
    if [[ $driver == - ]] || (($1 % 2)); then export ARRAYS_DRIVER=cuda; else export ARRAYS_DRIVER=hip; fi
}

for ((seed = 1; seed <= seeds; seed++)); do
    driven "$seed"
    before=$on_devices
    fresh
    SCR_FLUSH=0 run "$placed" "$seed" write a
    rm -rf "${nodes:?}/n$((seed % 3))"
    SCR_FLUSH=0 run "${placed/n$((seed % 3))/spare}" "$seed" read a
    fresh
    OTHER_RANKS=1 SCR_FLUSH=1 run "n0 n1" "$seed" write a
    OTHER_RANKS=1 SCR_FLUSH=1 run "${others[*]:0:1 + seed % 5}" "$seed" read a
    ((on_devices > before)) || fail "no field was on a device of $ARRAYS_DRIVER"
done
echo "ok: $seeds programs, $on_devices fields in memory of a driver"

[[ $driver != - ]] || exit 0
declare -A refused=([cu]=0 [hi]=0)
of=
for function in "${functions[@]}"; do
    if [[ $of != "${function:0:2}" ]]; then
        # The programs of the other driver have other fields on devices, and the same checkpoint could be read by both.
        of=${function:0:2}
        if [[ $of == hi ]]; then driven 2; else driven 1; fi
        fresh
        SCR_FLUSH=0 run "$placed" 3 write a
    fi
    for n in "${calls[@]}"; do
        # 214 is an uncorrectable error of the device's memory.
        SCR_FLUSH=0 run "$placed" 3 refuse b "$function" "$n" 214
        if grep -Eq "$ecc" log; then
            grep -Eq "($ecc).*\"(field [0-9]+|index)\"" log || fail "the field is not named"
            refused[$of]=$((refused[$of] + 1))
        fi
    done
    SCR_FLUSH=0 run "$placed" 3 read a
done
((refused[cu] > 0 && refused[hi] > 0)) || fail "no call of a driver has failed"
echo "ok: ${refused[cu]} checkpoints failed with CUDA, ${refused[hi]} with HIP"
