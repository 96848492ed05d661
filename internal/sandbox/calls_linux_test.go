//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"
	"os"
	"slices"
	"testing"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// byName are the system calls of Linux that find a file by its name and change nothing but folders.
var byName = []string{"access", "faccessat", "faccessat2", "fstatat", "link", "linkat", "lstat", "mkdir", "mkdirat",
	"newfstatat", "open", "openat", "openat2", "readlink", "readlinkat", "rename", "renameat", "renameat2", "rmdir",
	"stat", "statfs", "statx", "symlink", "symlinkat", "unlink", "unlinkat"}

// TestCallsOfProcessors: on each processor Close takes away every call that finds files by their names, and the sandbox
// allows what Go and libc need there.
func TestCallsOfProcessors(t *testing.T) {
	for _, info := range []*arch.Info{arch.X86_64, arch.AARCH64} {
		allow := policy(info, allowed, nil).Syscalls[0].Names
		deny := policy(info, nil, named).Syscalls[0].Names
		for _, call := range byName {
			if slices.Contains(allow, call) && !slices.Contains(deny, call) {
				t.Errorf("%s: %s is left after Close", info.Name, call)
			}
		}
		for _, call := range deny {
			if !slices.Contains(byName, call) {
				t.Errorf("%s: %s finds no files by their names", info.Name, call)
			}
		}
		status := []string{"newfstatat", "fstatat"} // the same call, by the tables of processors
		if !slices.ContainsFunc(status, func(call string) bool { return slices.Contains(allow, call) }) {
			t.Errorf("%s: there is no call for the status of a file", info.Name)
		}
		for _, call := range []string{"openat", "mmap", "mprotect", "munmap", "futex", "epoll_pwait", "pipe2", "dup3",
			"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "read", "write", "exit_group", "gettid",
			"sched_getaffinity", "sched_yield", "nanosleep", "getrandom", "unlinkat", "renameat2", "mkdirat", "lseek"} {
			if !slices.Contains(allow, call) {
				t.Errorf("%s: %s is not allowed", info.Name, call)
			}
		}
	}
}

// TestFilter runs the filters of this processor on calls, as the system would.
func TestFilter(t *testing.T) {
	info, err := arch.GetInfo("")
	if err != nil {
		t.Fatal(err)
	}
	machine := func(p seccomp.Policy) func(call string, args ...uint64) seccomp.Action {
		program, err := p.Assemble()
		if err != nil {
			t.Fatal(err)
		}
		vm, err := bpf.NewVM(program)
		if err != nil {
			t.Fatal(err)
		}
		return func(call string, args ...uint64) seccomp.Action {
			number, ok := info.SyscallNames[call]
			if !ok {
				t.Fatalf("there is no call %s", call)
			}
			// A struct seccomp_data, with the words as the machine of package bpf reads them.
			data := binary.BigEndian.AppendUint32(nil, uint32(number))
			data = binary.BigEndian.AppendUint32(data, uint32(info.ID))
			data = append(data, make([]byte, 8)...)
			for i := range 6 {
				v := uint64(0)
				if i < len(args) {
					v = args[i]
				}
				data = binary.BigEndian.AppendUint32(data, uint32(v))
				data = binary.BigEndian.AppendUint32(data, uint32(v>>32))
			}
			got, err := vm.Run(data)
			if err != nil {
				t.Fatal(err)
			}
			return seccomp.Action(got)
		}
	}
	inside, after := machine(policy(info, allowed, nil)), machine(policy(info, nil, named))
	refused := seccomp.ActionErrno | seccomp.Action(unix.EPERM)
	pid := uint64(os.Getpid())
	for _, c := range []struct {
		call string
		args []uint64
		want seccomp.Action
	}{
		{"openat", nil, seccomp.ActionAllow},
		{"mmap", nil, seccomp.ActionAllow},
		{"clone", []uint64{unix.CLONE_THREAD | unix.CLONE_VM}, seccomp.ActionAllow},
		{"clone", []uint64{unix.CLONE_VM}, refused},
		{"clone3", nil, seccomp.ActionErrno | seccomp.Action(unix.ENOSYS)},
		{"tgkill", []uint64{pid, 5, 9}, seccomp.ActionAllow},
		{"tgkill", []uint64{pid + 1, 5, 9}, refused},
		{"kill", []uint64{pid + 1, 9}, refused},
		{"fcntl", []uint64{1, unix.F_GETFL}, seccomp.ActionAllow},
		{"fcntl", []uint64{1, unix.F_SETLEASE}, seccomp.ActionAllow}, // inputs that are mapped
		{"fcntl", []uint64{1, unix.F_SETOWN}, refused},
		{"ioctl", []uint64{1, unix.TCGETS}, seccomp.ActionAllow},
		{"ioctl", []uint64{1, unix.TIOCSTI}, refused},
		{"prctl", []uint64{unix.PR_SET_DUMPABLE, 1}, refused},
		{"prlimit64", []uint64{0}, seccomp.ActionAllow},
		{"prlimit64", []uint64{pid + 1}, refused},
		{"execve", nil, refused},
		{"execveat", nil, refused},
		{"socket", nil, refused},
		{"connect", nil, refused},
		{"ptrace", nil, refused},
		{"process_vm_readv", nil, refused},
		{"pidfd_open", nil, refused},
		{"io_uring_setup", nil, refused},
		{"bpf", nil, refused},
		{"fchmodat", nil, refused},
		{"linkat", nil, refused},
	} {
		if got := inside(c.call, c.args...); got != c.want {
			t.Errorf("%s%v: %#x, not %#x", c.call, c.args, uint32(got), uint32(c.want))
		}
	}
	for _, call := range byName {
		if _, ok := info.SyscallNames[call]; ok && inside(call) == seccomp.ActionAllow && after(call) != refused {
			t.Errorf("%s is left after Close", call)
		}
	}
	for _, call := range []string{"read", "fcntl", "mmap", "munmap"} {
		if got := after(call); got != seccomp.ActionAllow {
			t.Errorf("%s is %#x after Close", call, uint32(got))
		}
	}
}
