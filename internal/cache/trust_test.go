package cache

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"healc/codegen"
	"healc/runtime/abi"
	"healc/tests/claims"
)

// childEnv makes a process of the tests store programs in its folder until it is killed or has stored some.
const childEnv = "HEALC_CACHE_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		os.Exit(child(dir, os.Getenv(childEnv+"_FOREVER") != ""))
	}
	os.Exit(m.Run())
}

// program is the program of a test with a number; it is large, so that writing it takes a while.
func program(n int) (key string, art *codegen.Artifact) {
	return Key("program", fmt.Sprint(n)), &codegen.Artifact{Plan: &abi.Program{Name: fmt.Sprint(n)},
		Objects: [][]byte{bytes.Repeat([]byte{byte(n)}, 300_000)}}
}

// is reports that a program is the one with a number, whole.
func is(art *codegen.Artifact, n int) bool {
	_, want := program(n)
	return art.Plan.Name == want.Plan.Name && len(art.Objects) == 1 && bytes.Equal(art.Objects[0], want.Objects[0])
}

const programs = 8

// child stores and loads programs, and says with its exit code whether all were right.
func child(dir string, forever bool) int {
	c := &Cache{Dir: dir}
	for round := 0; forever || round < 3; round++ {
		for n := range programs {
			key, art := program(n)
			c.Store(key, art)
			c.Name(Key("name", key), key)
			if got := c.Same(Key("name", key)); got != nil && !is(got, n) {
				return 1
			}
		}
	}
	return 0
}

// start starts a child.
func start(t *testing.T, dir string, forever bool) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	if forever {
		cmd.Env = append(cmd.Env, childEnv+"_FOREVER=1")
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// wantPrograms requires that what is in a cache is right, and that everything that is kept can be found.
func wantPrograms(t *testing.T, c *Cache, all bool) {
	t.Helper()
	for n := range programs {
		key, _ := program(n)
		if got := c.Load(key); got == nil && all || got != nil && !is(got, n) {
			t.Errorf("program %d is %v", n, got)
		}
	}
	if _, damaged, err := c.Verify(); len(damaged) > 0 || err != nil {
		t.Errorf("damaged: %v, %v", damaged, err)
	}
}

// TestCacheOfManyProcesses: twenty processes that store the same programs leave each of them whole.
func TestCacheOfManyProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	var all sync.WaitGroup
	for range 20 {
		cmd := start(t, dir, false)
		all.Go(func() {
			if err := cmd.Wait(); err != nil {
				t.Errorf("a process: %v", err)
			}
		})
	}
	all.Wait()
	wantPrograms(t, &Cache{Dir: dir}, true)
}

// TestCacheOfKilledProcesses: processes that are killed while they write leave nothing that is half an entry.
func TestCacheOfKilledProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	c := &Cache{Dir: dir}
	cut := 0
	for round := range 25 {
		cmd := start(t, dir, true)
		for end := time.Now().Add(10 * time.Second); len(c.Entries()) == 0 && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Duration(round*700) * time.Microsecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		wantPrograms(t, c, false)
		left, _ := filepath.Glob(filepath.Join(dir, "??", halfPrefix+"*"))
		cut += len(left)
		if round == 12 {
			if err := os.RemoveAll(dir); err != nil { // the first writes are made in an empty folder, too
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d files were cut", cut)
	// A later process does what the killed ones did not.
	if err := start(t, dir, false).Wait(); err != nil {
		t.Fatal(err)
	}
	wantPrograms(t, c, true)
}

// TestCacheKnowsItsEntries: an entry that is in the place of another, or is not as it was stored, is not there, and
// Verify finds and removes it.
func TestCacheKnowsItsEntries(t *testing.T) {
	first, art := program(1)
	second, other := program(2)
	firstName, secondName := Key("name", first), Key("name", second)
	var here string
	place := func(key string, k *kind) string { return filepath.Join(here, pathOf(key, k)) }
	change := func(path string, f func([]byte) []byte) error {
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, f(raw), 0o600)
	}
	cp := func(from, to string) error {
		raw, err := os.ReadFile(from)
		return errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, raw, 0o600))
	}
	for _, c := range []struct {
		name string
		do   func() error
		gone string // what Load or Same must not find
		says string // what Verify says
	}{
		{"copied over another", func() error { return cp(place(first, programKind), place(second, programKind)) },
			second, "it is the entry of another key"},
		{"a name over another", func() error { return cp(place(firstName, nameKind), place(secondName, nameKind)) },
			secondName, "it is the entry of another key"},
		{"a name in the place of a program",
			func() error { return cp(place(firstName, nameKind), place(second, programKind)) },
			second, "no entry of this version"},
		{"renamed to a key", func() error {
			return cp(place(first, programKind), place(Key("new"), programKind))
		}, Key("new"), "it is the entry of another key"},
		{"renamed", func() error { return cp(place(first, programKind), place(first, programKind)+".bak") },
			"", "an entry has another name"},
		{"put elsewhere", func() error { return cp(place(first, programKind), filepath.Join(here, "x.heal")) },
			"", "an entry has another name"},
		{"cut", func() error { return os.Truncate(place(second, programKind), 1000) }, second, "checksum"},
		{"cut to nothing", func() error { return os.Truncate(place(second, programKind), 0) }, second,
			"no entry of this version"},
		{"longer", func() error { return os.Truncate(place(second, programKind), 400_000) }, second, "checksum"},
		{"of a size that no memory has", func() error { return os.Truncate(place(second, programKind), 1<<40) },
			second, "more than the whole cache may have"},
		{"a bit of the content", func() error {
			return change(place(second, programKind), func(b []byte) []byte { b[len(b)-1] ^= 1; return b })
		}, second, "checksum"},
		{"a bit of the key", func() error {
			return change(place(second, programKind), func(b []byte) []byte { b[magicLen] ^= 1; return b })
		}, second, "checksum"},
		{"a bit of the build", func() error {
			return change(place(second, programKind), func(b []byte) []byte { b[magicLen+keyLen] ^= 1; return b })
		}, second, "checksum"},
		{"another magic", func() error {
			return change(place(second, programKind), func(b []byte) []byte { b[0] ^= 1; return b })
		}, second, "no entry of this version"},
		{"a pipe", func() error {
			return errors.Join(os.Remove(place(second, programKind)), syscall.Mkfifo(place(second, programKind), 0o600))
		}, second, "it is no file"},
		{"a link to elsewhere", func() error {
			elsewhere := filepath.Join(filepath.Dir(here), "elsewhere")
			return errors.Join(os.Rename(place(second, programKind), elsewhere),
				os.Symlink(elsewhere, place(second, programKind)))
		}, second, "escapes"},
		{"others may write it", func() error { return os.Chmod(place(second, programKind), 0o666) }, second,
			"others may write it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, verify := range []bool{false, true} {
				here = filepath.Join(t.TempDir(), "cache")
				kept := &Cache{Dir: here}
				kept.Store(first, art)
				kept.Store(second, other)
				kept.Name(firstName, first)
				kept.Name(secondName, second)
				wantFiles := len(files(t, here))
				if !is(kept.Same(firstName), 1) || !is(kept.Same(secondName), 2) {
					t.Fatal("what was stored is not there")
				}
				if err := c.do(); err != nil {
					t.Fatal(err)
				}
				if !verify {
					if c.gone != "" && (kept.Load(c.gone) != nil || kept.Same(c.gone) != nil) {
						t.Error("it is loaded")
					}
					kept.Store(second, other)
					kept.Name(secondName, second)
					if !is(kept.Same(secondName), 2) {
						t.Error("storing it anew does not help")
					}
					continue
				}
				_, damaged, err := kept.Verify()
				if len(damaged) != 1 || err != nil || !strings.Contains(fmt.Sprint(damaged[0].Err), c.says) {
					t.Errorf("verify finds %v, %v, want %q", damaged, err, c.says)
				}
				if _, damaged, _ := kept.Verify(); len(damaged) != 0 {
					t.Errorf("verify left %v", damaged)
				}
				if n := len(files(t, here)); n > wantFiles {
					t.Errorf("%d files are there, of %d", n, wantFiles)
				}
				if !is(kept.Same(firstName), 1) {
					t.Error("the other program is gone")
				}
			}
		})
	}
}

// TestCacheKnowsItsBuild: an entry of another build is not loaded; it is whole, so Verify leaves it.
func TestCacheKnowsItsBuild(t *testing.T) {
	c := &Cache{Dir: t.TempDir()}
	key, art := program(1)
	mine := build
	build = func() string { return Key("another build") }
	c.Store(key, art)
	build = mine
	if checked, damaged, err := c.Verify(); checked != 1 || len(damaged) != 0 || err != nil {
		t.Errorf("%d checked, damaged %v, %v", checked, damaged, err)
	}
	if c.Load(key) != nil {
		t.Error("an entry of another build is loaded")
	}
}

// TestCacheLeavesOtherFiles: what is in the folder and is not the cache's stays, whatever it is called.
func TestCacheLeavesOtherFiles(t *testing.T) {
	dir := t.TempDir()
	c := &Cache{Dir: dir, Limit: 1}
	for _, path := range []string{"kernels/mean.heal", "ab/mean.heal", "mean.heal", "ab/" + Key("x")[2:] + ".txt"} {
		path = filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, []byte("fn mean() = 1\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	want := files(t, dir)
	key, art := program(1)
	(&Cache{Dir: dir}).Store(key, art)
	c.open(false).trim(1)
	if n, err := c.Clear(); n != 0 || err != nil {
		t.Errorf("%d programs removed, %v", n, err)
	}
	c.Verify()
	if got := files(t, dir); !slices.Equal(got, want) {
		t.Errorf("left are %v, of %v", got, want)
	}
}

// files lists the files below a folder.
func files(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestCacheOfOthers: a folder that others own or may write is not used, and nothing is put there; folders are made for
// the user alone.
func TestCacheOfOthers(t *testing.T) {
	key, art := program(1)
	dir := filepath.Join(t.TempDir(), "new", "cache")
	c := &Cache{Dir: dir}
	if err := c.Refused(); err != nil {
		t.Errorf("a folder that is not there is refused: %v", err)
	}
	c.Store(key, art)
	for _, path := range []string{dir, filepath.Dir(dir), filepath.Join(dir, key[:2])} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	refused := func(says string) {
		t.Helper()
		if err := c.Refused(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("the reason is %v, not %q", err, says)
		}
		if c.Load(key) != nil {
			t.Errorf("%s, and what lies there is loaded", says)
		}
		before := len(files(t, dir))
		c.Store(Key("another"), art)
		if len(files(t, dir)) != before {
			t.Errorf("%s, and programs are stored there", says)
		}
	}
	for _, mode := range []os.FileMode{0o777, 0o720, 0o702} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		refused("others may write " + dir)
	}
	for _, mode := range []os.FileMode{0o700, 0o755} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if err := c.Refused(); err != nil || c.Load(key) == nil {
			t.Errorf("with the mode %o: %v", mode, err)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder to another user")
	}
	if err := os.Chown(dir, 4242, -1); err != nil {
		t.Fatal(err)
	}
	refused("belongs to the user with the number 4242")
}

// FuzzEntry: no bytes make reading an entry fail otherwise than by an error, or take more than a few times their size.
func FuzzEntry(f *testing.F) {
	key, art := program(1)
	art.Objects = [][]byte{[]byte("object")}
	body, err := encodeProgram(art)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seal(key, programKind, body), body)
	f.Add(seal(Key("name"), nameKind, []byte(key)), []byte(key))
	f.Add([]byte(programKind.magic), bytes.Repeat([]byte{0xff}, 16))
	f.Add(seal(key, programKind, nil)[:headLen-1], []byte{8, 0, 0, 0, 0, 0, 0, 0, '{', '}'})
	f.Fuzz(func(t *testing.T, raw, body []byte) {
		defer claims.Within(t, len(raw)+len(body), 16<<20, 200)()
		if got, err := unseal(raw, key, programKind); err == nil && !bytes.Equal(seal(key, programKind, got), raw) {
			t.Error("what was read is not what is written")
		}
		if art, err := decodeProgram(body); err == nil && art.Plan == nil {
			t.Error("a program without a plan")
		}
	})
}
