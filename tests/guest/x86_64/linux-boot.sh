#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# linux-boot.sh initrd BUSYBOX FILE    make the initial RAM disk (needs cpio)
# linux-boot.sh run KERNEL INITRD      boot a Linux on our PCs under KVM
#
# For a host whose /dev/kvm runs whole kernels; it needs a shell and busybox
# (BUSYBOX, default /bin/busybox) only, so that it runs inside a rig as well.
# QEMU is the command to be tested, in several words if need be (default
# ./qemu-system-x86_64). Speaks TAP: the kernel comes up with two vCPUs on both
# machines, moves to another process by the bitmap and by rings with its memory
# whole, sleeps and wakes, restarts, and switches off.
set -u
bb=${BUSYBOX:-/bin/busybox}
qemu=${QEMU:-./qemu-system-x86_64}

make_initrd() {
    d=$(mktemp -d) || exit 1
    mkdir "$d/bin" "$d/dev" "$d/proc" "$d/sys" "$d/tmp"
    cp "$1" "$d/bin/busybox"
    for c in sh mount cat cut dd echo grep md5sum reboot poweroff sleep uname; do
        ln -s busybox "$d/bin/$c"
    done
    cat >"$d/init" <<'I'
#!/bin/sh
mount -t proc p /proc; mount -t sysfs s /sys; mount -t tmpfs t /tmp
mount -t devtmpfs d /dev
echo "UP $(uname -r) cpus $(grep -c ^processor /proc/cpuinfo)"
grep -q do=restart /proc/cmdline && reboot -f
grep -q do=off /proc/cmdline && poweroff -f
dd if=/dev/urandom of=/tmp/f bs=1M count=16 2>/dev/null
want=$(md5sum </tmp/f)
(while :; do dd if=/tmp/f of=/tmp/g bs=1M count=8 2>/dev/null
    sleep 0.3; done) &
i=0
while :; do
    i=$((i + 1))
    [ "$(md5sum </tmp/f)" = "$want" ] && r=whole || r=CORRUPT
    echo "TICK $i memory $r"
    if [ $i = 3 ] && grep -q do=sleep /proc/cmdline; then
        echo +8 >/sys/class/rtc/rtc0/wakealarm
        echo mem >/sys/power/state && echo WOKEN
    fi
    sleep 1
done
I
    chmod 755 "$d/init"
    (cd "$d" && find . | cpio -o -H newc --quiet | gzip -9) >"$2"
    rm -rf "$d"
}

# start NAME ARG...: serial line to $t/NAME.ser, monitor fed by $t/NAME.in
start() {
    name=$1
    shift
    rm -f "$t/$name.in" "$t/$name.ser"
    $bb mkfifo "$t/$name.in"
    $qemu -cpu host -m 384 -smp 2 -display none -nodefaults -monitor stdio \
        -serial "file:$t/$name.ser" -kernel "$kernel" -initrd "$initrd" \
        "$@" <"$t/$name.in" >"$t/$name.mon" 2>&1 &
}

# Wait until $2 is in file $1; false after $3 seconds.
wait_for() {
    n=$3
    while ! grep -q "$2" "$1" 2>/dev/null; do
        n=$((n - 1))
        [ $n -gt 0 ] || return 1
        sleep 1
    done
}

count=0
result() { # STATUS NAME
    count=$((count + 1))
    if [ "$1" = 0 ]; then
        echo "ok $count - $2"
    else
        echo "not ok $count - $2"
        for f in "$t"/*.ser "$t"/*.mon; do
            echo "# $f"
            $bb tail -15 "$f" | $bb sed 's/^/# /'
        done
    fi
    rm -f "$t"/*.ser "$t"/*.mon
}

cmdline="console=ttyS0 quiet panic=-1 mitigations=off"

boot_on() { # MACHINE
    start a -M "$1" -accel kvm -append "$cmdline"
    exec 7>"$t/a.in"
    wait_for "$t/a.ser" "UP .* cpus 2" 90 && wait_for "$t/a.ser" "TICK 2" 60
    r=$?
    echo quit >&7
    exec 7>&-
    wait
    result $r "boots on $1"
}

migrate_by() { # NAME ACCELERATOR
    start a -M q35 -accel "$2" -append "$cmdline"
    exec 7>"$t/a.in"
    wait_for "$t/a.ser" "TICK 3" 120
    rm -f "$t/m"
    start b -M q35 -accel "$2" -append "$cmdline" -incoming "unix:$t/m"
    exec 8>"$t/b.in"
    n=60
    while [ ! -e "$t/m" ] && [ $n -gt 0 ]; do n=$((n - 1)); sleep 1; done
    echo "migrate_set_parameter downtime-limit 1000" >&7
    echo "migrate -d unix:$t/m" >&7
    wait_for "$t/b.ser" "TICK [0-9]* memory whole" 90 &&
        sleep 3 && ! grep -q CORRUPT "$t/b.ser"
    r=$?
    echo "info status" >&7
    sleep 1
    grep -q postmigrate "$t/a.mon" || r=1
    echo quit >&7
    echo quit >&8
    exec 7>&- 8>&-
    wait
    result $r "moves by $1"
}

sleeps() {
    start a -M q35 -accel kvm -append "$cmdline do=sleep"
    exec 7>"$t/a.in"
    wait_for "$t/a.ser" WOKEN 120 &&
        wait_for "$t/a.ser" "TICK 5 memory whole" 30
    r=$?
    echo quit >&7
    exec 7>&-
    wait
    result $r "sleeps, and wakes by the clock"
}

ends_by() { # WORD EVENT
    start a -M q35 -accel kvm -no-reboot -append "$cmdline do=$1" \
        -trace 'system_*'
    exec 7>"$t/a.in"
    wait
    exec 7>&-
    grep -q "reason $2" "$t/a.mon"
    result $? "ends by $1"
}

case ${1:-} in
initrd)
    make_initrd "$2" "$3"
    ;;
run)
    kernel=$2
    initrd=$3
    t=$(mktemp -d) || exit 1
    echo 1..7
    boot_on q35
    boot_on pc
    migrate_by bitmap kvm
    migrate_by rings kvm,dirty-ring-size=4096
    sleeps
    ends_by restart guest-reset
    ends_by off guest-shutdown
    rm -rf "$t"
    ;;
*)
    $bb sed -n '4,15p' "$0"
    exit 2
    ;;
esac
