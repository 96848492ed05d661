//go:build linux && (amd64 || arm64)

package sandboxtest

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"healc/codegen/llvm/libllvm"
	"healc/runtime/objload"
)

// hostileIR is machine code in place of a kernel: it makes any system call.
var hostileIR = map[string]string{
	"amd64": `define i64 @hostile(i64 %n, i64 %a, i64 %b, i64 %c, i64 %d, i64 %e) {
  %r = call i64 asm sideeffect "syscall", "={ax},{ax},{di},{si},{dx},{r10},{r8},~{rcx},~{r11},~{memory}"(i64 %n,
    i64 %a, i64 %b, i64 %c, i64 %d, i64 %e)
  ret i64 %r
}`,
	"arm64": `define i64 @hostile(i64 %n, i64 %a, i64 %b, i64 %c, i64 %d, i64 %e) {
  %r = call i64 asm sideeffect "svc #0", "={x0},{x8},{x0},{x1},{x2},{x3},{x4},~{memory}"(i64 %n,
    i64 %a, i64 %b, i64 %c, i64 %d, i64 %e)
  ret i64 %r
}`,
}

// attempt is a system call that nothing in a sandbox may make.
type attempt struct {
	name string
	open bool // it finds a file by its name: before Close Landlock refuses it
	n    uintptr
	args []uintptr
}

// The variables that name a file that the sandbox does not have, and one that it has.
const (
	EnvFile = "HEAL_TEST_FOREIGN"
	EnvOwn  = "HEAL_TEST_OWN"
)

// kept keeps what attempts point to.
var kept []any

func text(s string) uintptr {
	p, err := syscall.BytePtrFromString(s)
	if err != nil {
		panic(err)
	}
	kept = append(kept, p)
	return uintptr(unsafe.Pointer(p))
}

func block(n int) uintptr {
	b := make([]byte, n)
	kept = append(kept, b)
	return uintptr(unsafe.Pointer(&b[0]))
}

func attempts() []attempt {
	at := ^uintptr(99) // AT_FDCWD
	parent := uintptr(os.Getppid())
	return []attempt{
		{"read a file", true, unix.SYS_OPENAT, []uintptr{at, text(os.Getenv(EnvFile)), unix.O_RDONLY, 0}},
		{"create a file", true, unix.SYS_OPENAT, []uintptr{at, text(os.Getenv(EnvFile) + ".new"),
			unix.O_CREAT | unix.O_WRONLY, 0o600}},
		{"remove a file", true, unix.SYS_UNLINKAT, []uintptr{at, text(os.Getenv(EnvFile)), 0}},
		{"open a device", true, unix.SYS_OPENAT, []uintptr{at, text("/dev/zero"), unix.O_RDONLY, 0}},
		{"open with openat2", false, unix.SYS_OPENAT2, []uintptr{at, text(os.Getenv(EnvFile)), block(24), 24}},
		{"change a mode", false, unix.SYS_FCHMODAT, []uintptr{at, text(os.Getenv(EnvFile)), 0o777}},
		{"make a link", false, unix.SYS_SYMLINKAT, []uintptr{text("/etc"), at, text(os.Getenv(EnvFile) + ".link")}},
		{"open a socket", false, unix.SYS_SOCKET, []uintptr{unix.AF_INET, unix.SOCK_STREAM, 0}},
		{"open a local socket", false, unix.SYS_SOCKET, []uintptr{unix.AF_UNIX, unix.SOCK_STREAM, 0}},
		{"make a pair of sockets", false, unix.SYS_SOCKETPAIR, []uintptr{unix.AF_UNIX, unix.SOCK_STREAM, 0, block(8)}},
		{"execute a program", false, unix.SYS_EXECVE, []uintptr{text("/bin/true"), 0, 0}},
		{"execute a descriptor", false, unix.SYS_EXECVEAT, []uintptr{0, text(""), 0, 0, unix.AT_EMPTY_PATH}},
		{"fork", false, unix.SYS_CLONE, []uintptr{uintptr(syscall.SIGCHLD), 0, 0, 0, 0}},
		{"fork by clone3", false, unix.SYS_CLONE3, []uintptr{block(88), 88}},
		{"trace the parent", false, unix.SYS_PTRACE, []uintptr{unix.PTRACE_ATTACH, parent, 0, 0}},
		{"be traced", false, unix.SYS_PTRACE, []uintptr{unix.PTRACE_TRACEME, 0, 0, 0}},
		{"read memory of the parent", false, unix.SYS_PROCESS_VM_READV, []uintptr{parent, block(16), 1, block(16), 1}},
		{"signal the parent", false, unix.SYS_KILL, []uintptr{parent, 0}},
		{"signal a thread of the parent", false, unix.SYS_TGKILL, []uintptr{parent, parent, 0}},
		{"own signals of a descriptor", false, unix.SYS_FCNTL, []uintptr{0, unix.F_SETOWN, parent}},
		{"limit the parent", false, unix.SYS_PRLIMIT64, []uintptr{parent, unix.RLIMIT_CORE, 0, block(16)}},
		{"hold the parent", false, unix.SYS_PIDFD_OPEN, []uintptr{parent, 0}},
		{"unshare", false, unix.SYS_UNSHARE, []uintptr{unix.CLONE_NEWUSER}},
		{"mount", false, unix.SYS_MOUNT, []uintptr{text("none"), text("/tmp"), text("tmpfs"), 0, 0}},
		{"trace by bpf", false, unix.SYS_BPF, []uintptr{0, block(64), 64}},
		{"use a ring", false, unix.SYS_IO_URING_SETUP, []uintptr{1, block(256)}},
		{"type into the terminal", false, unix.SYS_IOCTL, []uintptr{0, unix.TIOCSTI, text("x")}},
		{"make a key", false, unix.SYS_ADD_KEY, []uintptr{text("user"), text("k"), text("v"), 1, ^uintptr(3)}},
		{"share memory", false, unix.SYS_SHMGET, []uintptr{0, 4096, 0o1600}},
		{"handle page faults", false, unix.SYS_USERFAULTFD, []uintptr{0}},
		{"change the domain", false, unix.SYS_PERSONALITY, []uintptr{0x0400000}},
	}
}

// Caller makes machine code that makes system calls.
func Caller() (func(n uintptr, args ...uintptr) syscall.Errno, error) {
	lib, err := libllvm.Open()
	if err != nil {
		return nil, err
	}
	obj, err := lib.Compile(hostileIR[runtime.GOARCH], libllvm.Options{OptLevel: 1})
	if err != nil {
		return nil, err
	}
	img, err := objload.Load(obj, objload.Options{})
	if err != nil {
		return nil, err
	}
	fn, _ := img.Symbol("hostile")
	call := func(n uintptr, args ...uintptr) syscall.Errno {
		var all [6]uintptr
		all[0] = n
		copy(all[1:], args)
		if r := int64(objload.Call(fn, all[:]...)); r < 0 && r > -4096 {
			return syscall.Errno(-r)
		}
		return 0
	}
	if e := call(unix.SYS_GETPID); e != 0 {
		return nil, fmt.Errorf("the code does not run: %w", e)
	}
	return call, nil
}

// Try makes all attempts, and says what became of each: `stage|attempt|error`, a line each.
func Try(stage string, call func(n uintptr, args ...uintptr) syscall.Errno) string {
	var out strings.Builder
	own := []uintptr{^uintptr(99), text(os.Getenv(EnvOwn)), unix.O_RDONLY, 0}
	fmt.Fprintf(&out, "%s|its own file|%d\n", stage, call(unix.SYS_OPENAT, own...))
	for _, a := range attempts() {
		fmt.Fprintf(&out, "%s|%s|%d\n", stage, a.name, call(a.n, a.args...))
	}
	return out.String()
}

// Check reads what Try said. open says that files can be found by their names there, so that its own file can be read;
// landlock that others then cannot. It gives what is wrong, a line each.
func Check(said string, open, landlock bool) (wrong []string) {
	tried := 0
	for line := range strings.Lines(said) {
		part := strings.Split(strings.TrimSpace(line), "|")
		if len(part) != 3 {
			wrong = append(wrong, line)
			continue
		}
		tried++
		var got syscall.Errno
		fmt.Sscan(part[2], (*uintptr)(&got))
		refused := got == unix.EPERM || got == unix.EACCES || got == unix.ENOSYS
		byName := false
		for _, a := range attempts() {
			byName = byName || a.open && a.name == part[1]
		}
		switch {
		case part[1] == "its own file":
			if (got == 0) != open {
				wrong = append(wrong, fmt.Sprintf("%s: %s gives %v", part[0], part[1], got))
			}
		case byName && open && !landlock:
			// Nothing says which files a compiler may read.
		case !refused:
			wrong = append(wrong, fmt.Sprintf("%s: to %s gives %v (%d)", part[0], part[1], got, got))
		}
	}
	if want := 1 + len(attempts()); tried != want {
		wrong = append(wrong, fmt.Sprintf("%d attempts, not %d", tried, want))
	}
	return wrong
}
