#!/bin/sh
# bochs.sh FOLDER makes a PC with AVX-512 in FOLDER, in which tests run code that this machine cannot (CONTRIBUTING.md): Debian's kernel for clouds,
# the program boot beside this script, and Bochs 3.0, which is BOCHS, built with
#   ./configure --enable-all-optimizations --enable-x86-64 --enable-avx --enable-evex --with-nogui
# after `patch -p1 <bochs.patch`, the file beside this script: two of its instructions are wrong. Debian 13 has its source: `apt-get source bochs`.
# It needs Debian's packages bochsbios vgabios isolinux syslinux-common xorriso cpio bsdutils. The processor is a Skylake with what later ones
# have: as Ice Lake, Bochs does not get through the start of Linux 6.1, nor with the keys for pages (pku).
set -eu
folder=$(mkdir -p "$1" && cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
BOCHS=${BOCHS:-bochs}

cd "$folder"
rm -rf iso root && mkdir -p iso/isolinux root/modules
if [ ! -d kernel ]; then
	package=$(apt-cache depends --important linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -1)
	apt-get download "$package"
	dpkg -x "$package"_*.deb kernel
fi
cp kernel/boot/vmlinuz-* iso/vmlinuz
number=1
for module in scsi/scsi_common scsi/scsi_mod ata/libata ata/ata_piix scsi/sd_mod; do
	cp kernel/lib/modules/*/kernel/drivers/$module.ko root/modules/$number.ko
	number=$((number + 1))
done
mkdir -p root/lib64 root/lib/x86_64-linux-gnu # of this machine's C library, which is there for programs as Go links them
cp -L /lib64/ld-linux-x86-64.so.2 root/lib64/
for lib in libc.so.6 libdl.so.2 libpthread.so.0 libm.so.6; do
	cp -L "/lib/x86_64-linux-gnu/$lib" root/lib/x86_64-linux-gnu/
done
(cd "$here" && CGO_ENABLED=0 GOOS=linux GOARCH=amd64 go build -ldflags='-s -w' -o "$folder/root/init" ./boot)
(cd root && find . | cpio -o -H newc --quiet) >iso/initrd
cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 iso/isolinux/
cat >iso/isolinux/isolinux.cfg <<END
DEFAULT boot
PROMPT 0
TIMEOUT 1
LABEL boot
 KERNEL /vmlinuz
 INITRD /initrd
 APPEND console=ttyS0 rdinit=/init mitigations=off nokaslr tsc=reliable lpj=1000000 random.trust_cpu=on panic=-1 nowatchdog idle=poll quiet
END
xorriso -as mkisofs -quiet -o boot.iso -b isolinux/isolinux.bin -c isolinux/boot.cat -no-emul-boot -boot-load-size 4 -boot-info-table iso

cat >bochsrc.in <<END
display_library: nogui
cpu: model=corei7_skylake_x, add_features="avx512ifma52,avx512vbmi,avx512vbmi2,avx512vnni,avx512bitalg,avx512vpopcnt,gfni,vaes_vpclmulqdq,sha", exclude_features="pku", ips=10000000, reset_on_triple_fault=0, ignore_bad_msrs=1
memory: guest=1024, host=1024
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
ata0-master: type=disk, path=DISK, mode=flat
ata0-slave: type=cdrom, path=$folder/boot.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=console
log: bochs.log
panic: action=fatal
error: action=ignore
info: action=ignore
debug: action=ignore
clock: sync=none
speaker: enabled=0
END
cat >start <<END
#!/bin/sh
sed "s|DISK|\$1|" $folder/bochsrc.in >bochsrc
# It ends with script, which ends with the test, also where hanging up is ignored (nohup).
exec script -qc "exec setpriv --pdeathsig KILL $BOCHS -q -f bochsrc" /dev/null </dev/null >screen
END
chmod +x start
