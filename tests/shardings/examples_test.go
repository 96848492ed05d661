package shardings

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"healc"
	"healc/internal/engine"
	"healc/runtime"
	"healc/runtime/cluster"
	"healc/runtime/collective"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
	"healc/tests/sample"
	"healc/tests/ways"
)

const examples = "../../examples/cluster"

// TestExamples: each program of examples/cluster prints on any number of ranks what it prints on one: floats are
// printed in the shortest form that reads back, so that equal text is equal bits. What is cut is
// gathered before it is printed, so that the text of rank 0 has what the others computed. In the long tests one rank is
// the interpreter.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(examples, "*.heal"))
	if err != nil || len(files) < 8 {
		t.Fatalf("%d programs: %v", len(files), err)
	}
	day := sample.Today(t)
	for k, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			if testing.Short() && (day+k)%4 > 0 {
				t.Skip("its turn is on another day")
			}
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			alone := engine.Options{Backend: heal.CPU, Threads: 1, Once: true}
			if sample.All() {
				alone = engine.Options{Backend: heal.Interp}
			}
			want, err := printed(t, string(source), t.TempDir(), alone)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Count(want, "\n") < 3 {
				t.Errorf("it prints little:\n%s", want)
			}
			for i, n := range sizes {
				if turn := (day + 3*k + i) % len(sizes); !sample.All() && turn > 1 || testing.Short() && turn > 0 {
					continue // each number has its days
				}
				turn := ways.Usual(day+k+i, 4*len(sizes))
				turn = turn[(day+k+i)%len(turn):][:1] // of all ways, in the long tests
				for _, w := range turn {
					for _, o := range w.Options(t, engine.Options{Backend: heal.CPU, Threads: 1}) {
						got, err := printedBy(t, n, string(source), o)
						if err != nil {
							t.Fatal(err)
						}
						if got != want {
							t.Errorf("%d ranks, %s, print\n%swant\n%s", n, w, got, want)
						}
					}
				}
			}
		})
	}
}

// printed is what main prints. Files are written to, and read from, a folder, where they are not those of the examples.
func printed(t *testing.T, source, dir string, o engine.Options) (string, error) {
	t.Helper()
	out := &strings.Builder{}
	o.System = system{dir: dir, out: out}
	m, err := engine.Compile(source, o)
	if err != nil {
		return "", err
	}
	defer m.Close()
	f, err := m.Func("main")
	if err != nil {
		return "", err
	}
	results, err := f.CallAll(context.Background())
	if err != nil {
		return "", err
	}
	for _, r := range results {
		if code := r.Bits(); len(code) != 1 || code[0] != 0 {
			err = fmt.Errorf("the exit code is %v", code)
		}
		r.Close()
	}
	return out.String(), err
}

// printedBy is what n ranks print together.
func printedBy(t *testing.T, n int, source string, o engine.Options) (string, error) {
	t.Helper()
	comms, err := heal.LocalCluster(n)
	if err != nil {
		return "", err
	}
	return printedTogether(t, comms, source, o)
}

// printedTogether is printedBy by these communicators.
func printedTogether(t *testing.T, comms []cluster.Comm, source string, o engine.Options) (string, error) {
	t.Helper()
	n, dir := len(comms), t.TempDir()
	out, errs := make([]string, n), make([]error, n)
	var all sync.WaitGroup
	for rank, c := range comms {
		all.Go(func() {
			o := o
			o.Cluster = c
			if out[rank], errs[rank] = printed(t, source, dir, o); errs[rank] == nil {
				errs[rank] = c.Close()
				return
			}
			c.Abort(1, errs[rank].Error())
			errs[rank] = fmt.Errorf("rank %d of %d: %w", rank, n, errs[rank])
		})
	}
	all.Wait()
	return strings.Join(out, ""), errors.Join(errs...)
}

// system keeps what is printed, and has a folder for what is written.
type system struct {
	runtime.OS
	dir string
	out *strings.Builder
}

func (s system) Print(text string) error { s.out.WriteString(text); return nil }

func (s system) LoadNpy(path string) (*tensor.Tensor, error) {
	if strings.HasPrefix(path, "examples/") {
		return tensorfile.ReadNpyFile(filepath.Join("..", "..", path))
	}
	return tensorfile.ReadNpyFile(filepath.Join(s.dir, path))
}

func (s system) SaveImage(path string, form tensorfile.Image, x *tensor.Tensor) error {
	return s.OS.SaveImage(filepath.Join(s.dir, path), form, x)
}

func (s system) SaveNpy(path string, x *tensor.Tensor) error {
	return tensorfile.WriteNpyFile(filepath.Join(s.dir, path), x)
}

// SharedFiles has ranks write together, as the plain file system has them.
func (s system) SharedFiles() collective.Files { return inFolder{runtime.SharedFiles(s.OS), s.dir} }

// inFolder are files whose names are those in a folder.
type inFolder struct {
	collective.Files
	dir string
}

func (f inFolder) CreateShared(path string) (collective.File, uint64, error) {
	return f.Files.CreateShared(filepath.Join(f.dir, path))
}

func (f inFolder) OpenShared(path string, tag uint64) (collective.File, error) {
	return f.Files.OpenShared(filepath.Join(f.dir, path), tag)
}

// TestJobs: the batch script is one that bash reads, and the job for Kubernetes has the fields that the operator asks
// for; both run programs that are there, and ask for as many ranks as they have places.
func TestJobs(t *testing.T) {
	script := filepath.Join(examples, "heat.slurm")
	if bash, err := exec.LookPath("bash"); err != nil {
		t.Log("there is no bash, and the script is not read by it")
	} else if out, err := exec.Command(bash, "-n", script).CombinedOutput(); err != nil {
		t.Errorf("bash -n %s: %v\n%s", script, err, out)
	}
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	commands := false
	for i, line := range strings.Split(string(text), "\n") {
		switch {
		case strings.HasPrefix(line, "#SBATCH "):
			if !batchOption.MatchString(line) {
				t.Errorf("line %d: %s is no option of sbatch", i+1, line)
			}
			if commands {
				t.Errorf("line %d: sbatch reads no options behind the first command", i+1)
			}
		case line != "" && !strings.HasPrefix(line, "#"):
			commands = true
		}
	}
	text, err = os.ReadFile(filepath.Join(examples, "heat.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	job := fields(t, string(text))
	for path, want := range map[string]string{
		"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata.name": "heat",
		"spec.mpiReplicaSpecs.Launcher.replicas": "1", "spec.slotsPerWorker": "1",
		"spec.mpiReplicaSpecs.Launcher.template.spec.containers.command": `["mpirun"]`,
	} {
		if got := strings.Join(job[path], " "); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	const containers = ".template.spec.containers"
	for _, role := range []string{"Launcher", "Worker"} {
		at := "spec.mpiReplicaSpecs." + role + containers
		if len(job[at+".name"]) != 1 || len(job[at+".image"]) != 1 {
			t.Errorf("%s has no container with a name and an image", role)
		}
	}
	args := strings.Join(job["spec.mpiReplicaSpecs.Launcher"+containers+".args"], " ")
	workers := strings.Join(job["spec.mpiReplicaSpecs.Worker.replicas"], " ")
	if !strings.Contains(args, `"-n" "`+workers+`"`) || !strings.Contains(args, `"run" "--dist" "mpi" "/work/heat.heal"`) {
		t.Errorf("%s workers do not run what the launcher starts: %s", workers, args)
	}
}

var (
	batchOption = regexp.MustCompile(`^#SBATCH --[a-z]+(-[a-z]+)*=\S+$`)
	yamlLine    = regexp.MustCompile(`^( *)((?:- )?)(?:([A-Za-z]+):(?: (\S.*))?|("[^"]*"))$`)
)

// fields are the values of a YAML document by their path, for the plain part of YAML that the job is written in: maps
// and lists by indentation. The elements of a list have the path of the list.
func fields(t *testing.T, text string) map[string][]string {
	t.Helper()
	type key struct {
		indent int
		name   string
	}
	out := map[string][]string{}
	var path []key
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		m := yamlLine.FindStringSubmatch(line)
		if m == nil || len(m[1])%2 != 0 {
			t.Fatalf("line %d is none of the plain YAML that is expected: %q", i+1, line)
		}
		indent := len(m[1]) + len(m[2])
		for len(path) > 0 && path[len(path)-1].indent >= indent {
			path = path[:len(path)-1]
		}
		value := m[4] + m[5]
		if m[3] != "" {
			path = append(path, key{indent, m[3]})
		}
		if value == "" {
			continue
		}
		var names []string
		for _, k := range path {
			names = append(names, k.name)
		}
		at := strings.Join(names, ".")
		out[at] = append(out[at], value)
	}
	return out
}

// TestListed: the page of the examples names each of them.
func TestListed(t *testing.T) {
	page, err := os.ReadFile("../../examples/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"*.heal", "cluster/*"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "examples", pattern))
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, f := range files {
			name, err := filepath.Rel("../../examples", f)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(page), "]("+filepath.ToSlash(name)+")") {
				t.Errorf("examples/README.md does not name %s", name)
			}
		}
	}
}
