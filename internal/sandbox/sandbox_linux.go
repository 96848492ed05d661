package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"unsafe"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"golang.org/x/sys/unix"

	"healc/runtime/jitinfo"
)

// The variables by which the process that starts the child tells it what to give up: the rules, and the step.
const (
	envRules = "HEAL_SANDBOX_RULES"
	envStep  = "HEAL_SANDBOX_STEP"
)

// self is this program, also where its file was replaced or removed since it started.
const self = "/proc/self/exe"

// Available says what this system offers.
func Available() Support {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		abi = 0
	}
	return Support{Landlock: int(abi), Seccomp: seccomp.Supported()}
}

// Command is this program with other arguments, to be run in a sandbox.
func Command(r Rules, args ...string) (*exec.Cmd, error) {
	r.Libraries = append(r.Libraries, self)
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	c := exec.Command(self, args...)
	c.Args[0] = os.Args[0]
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.Env = []string{envStep + "=1", envRules + "=" + string(text)}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		switch {
		case name == jitinfo.Variable: // its files are outside
		case strings.HasPrefix(name, "HEAL_") && !strings.HasPrefix(name, "HEAL_SANDBOX_"),
			name == "TERM", name == "NO_COLOR", name == "COLUMNS":
			c.Env = append(c.Env, v)
		}
	}
	return c, nil
}

// Loaded are the files of the libraries and programs that are mapped into this process.
func Loaded() []string {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil
	}
	var out []string
	seen := map[string]bool{}
	for line := range strings.Lines(string(maps)) {
		if i := strings.IndexByte(line, '/'); i >= 0 {
			if path := strings.TrimSpace(line[i:]); !seen[path] && !strings.HasSuffix(path, " (deleted)") {
				seen[path], out = true, append(out, path)
			}
		}
	}
	return out
}

// Inside reports whether this process is in a sandbox.
func Inside() bool { return os.Getenv(envStep) == "2" }

// Enter gives up what the process that started this one says; in any other process it does nothing. It comes first in
// main.
func Enter() error {
	switch os.Getenv(envStep) {
	case "1":
		var r Rules
		if err := json.Unmarshal([]byte(os.Getenv(envRules)), &r); err != nil {
			return err
		}
		return enter(r)
	case "2":
		if !seccomp.Supported() {
			return nil
		}
		return filter(allowed, nil)
	}
	return nil
}

// enter is the first step; it does not return but for an error.
func enter(r Rules) error {
	runtime.LockOSThread()
	if err := limit(r); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if abi := Available().Landlock; abi > 0 {
		if err := restrict(r, abi); err != nil {
			return fmt.Errorf("landlock: %w", err)
		}
	}
	env := []string{envStep + "=2"}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, envStep+"=") && !strings.HasPrefix(v, envRules+"=") {
			env = append(env, v)
		}
	}
	return fmt.Errorf("cannot start the program again: %w", unix.Exec(self, os.Args, env))
}

// limit sets the limits of the system.
func limit(r Rules) error {
	limits := []struct {
		what string
		of   int
		n    int64
	}{{"memory", unix.RLIMIT_DATA, r.Memory}, {"processor time", unix.RLIMIT_CPU, r.CPU},
		{"size of files", unix.RLIMIT_FSIZE, r.File}}
	for _, l := range limits {
		if l.n <= 0 {
			continue
		}
		var now unix.Rlimit
		if err := unix.Getrlimit(l.of, &now); err != nil {
			return fmt.Errorf("limit of %s: %w", l.what, err)
		}
		n := min(uint64(l.n), now.Max)
		if err := unix.Setrlimit(l.of, &unix.Rlimit{Cur: n, Max: n}); err != nil {
			return fmt.Errorf("limit of %s: %w", l.what, err)
		}
	}
	return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
}

// The rights that Landlock knows, by the version that brought them.
const (
	readRights  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	firstRights = 1<<13 - 1 // of version 1
)

// restrict is Landlock for this thread.
func restrict(r Rules, abi int) error {
	attr := unix.LandlockRulesetAttr{Access_fs: firstRights}
	if abi >= 2 {
		attr.Access_fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		attr.Access_fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 4 {
		attr.Access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= 5 {
		attr.Access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	size := unsafe.Sizeof(attr)
	switch {
	case abi < 4:
		size = unsafe.Offsetof(attr.Access_net)
	case abi < 6:
		size = unsafe.Offsetof(attr.Scoped)
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(fd))
	rules := []struct {
		paths  []string
		rights uint64
	}{
		{append(r.Read, hostFiles...), readRights},
		{r.Write, readRights | writeRights},
		{r.Libraries, unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE},
		{[]string{"/dev/null"}, unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE},
	}
	for _, rule := range rules {
		for _, path := range rule.paths {
			if err := allow(int(fd), path, rule.rights&attr.Access_fs); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// hostFiles say what machine this is: which processor and caches, how many threads and how much memory a program may
// use; and where the system's libraries are.
var hostFiles = []string{"/proc/cpuinfo", "/proc/meminfo", "/proc/self", "/sys/devices/system/cpu", "/sys/fs/cgroup",
	"/sys/kernel/mm/transparent_hugepage", "/etc/ld.so.cache"}

// allow adds a rule for a path; one that is not there needs none.
func allow(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
			unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if rights == 0 {
		return nil
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
