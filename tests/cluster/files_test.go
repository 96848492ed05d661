package cluster_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
	"healc/tests/sample"
)

// TestSaved: ranks write a sharded tensor together; the file is that of one rank.
func TestSaved(t *testing.T) {
	day := sample.Today(t)
	const program = `@io fn main() -> i32 = {
    let x: f32[1000, 1000] sharded(AXIS) = tabulate(1000, 1000, |i, j| sin((i * 1000 + j) as f32));
    save_npy("PATH", x);
    print(+/(load_npy[f32, 1000, 1000]("PATH")));
    0
}
`
	for i, c := range connections(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			npy := filepath.Join(t.TempDir(), "x.npy")
			f := file(t, strings.NewReplacer("PATH", npy, "AXIS", fmt.Sprint((day+i)%2)).Replace(program))
			code, want, stderr := run(command(t, nil, "run", f))
			one, err := os.ReadFile(npy)
			if code != 0 || stderr != "" || err != nil {
				t.Fatalf("one rank: exit code %d\n%s%s%v", code, want, stderr, err)
			}
			for _, n := range numbers(day) {
				code, stdout, stderr := run(c.start(t, n, "run", f))
				if code != 0 || stdout != want || c.env == "" && stderr != "" {
					t.Errorf("%d ranks: exit code %d\n%s%s\none prints\n%s", n, code, stdout, stderr, want)
				}
				if got, err := os.ReadFile(npy); err != nil || !bytes.Equal(got, one) {
					t.Errorf("%d ranks write another file: %v", n, err)
				}
			}
		})
	}
}

// TestParts: of a sharded input each rank reads its part, and of a sharded result it writes its part; what is printed
// and what is in the files is that of one rank.
func TestParts(t *testing.T) {
	day := sample.Today(t)
	f := file(t, `fn f[N, M](x: f32[N, M] sharded(0), y: f32[N, M] sharded(1), k: f32)
    -> (f32[N, M] sharded(0), f32[M] sharded(0), f32[N, M] sharded(1)) = {
    let z = x .* k + reshard(y, 0);
    (z, sum(reshard(z, 1), axis = 0), reshard(z, 1))
}
`)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	code, _, stderr := run(command(t, nil, "run", f, "--entry", "f", "--in", "x=f32[700,900]:rand(1)", "--in",
		"y=f32[700,900]:rand(2)", "--in", "k=1.0", "--out", "0="+at("x.npy"), "--out", "1="+at("s.npy"), "--out",
		"2="+at("y.npy")))
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	y, err := tensorfile.ReadNpyFile(at("y.npy"))
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	scale, err := tensor.Zeros(types.U8, 3) // another tensor of the file
	if err != nil {
		t.Fatal(err)
	}
	defer scale.Close()
	if err := tensorfile.WriteSafetensorsFile(at("both.safetensors"), nil, tensorfile.NamedTensor{Name: "y", Tensor: y},
		tensorfile.NamedTensor{Name: "scale", Tensor: scale}); err != nil {
		t.Fatal(err)
	}
	args := []string{"run", f, "--entry", "f", "--in", "x=@" + at("x.npy"), "--in",
		"y=@" + at("both.safetensors") + ":y", "--in", "k=0.3"}
	code, want, stderr := run(command(t, nil, append(args, "--out", "0="+at("z.npy"), "--out", "2="+at("w.npy"))...))
	if code != 0 || stderr != "" || strings.Count(want, "\n") < 1 {
		t.Fatalf("one rank: exit code %d\n%s%s", code, want, stderr)
	}
	for _, c := range connections(t) {
		t.Run(c.name, func(t *testing.T) {
			for _, n := range numbers(day) {
				to := t.TempDir()
				outs := []string{"--out", "0=" + filepath.Join(to, "z.npy"), "--out", "2=" + filepath.Join(to, "w.npy")}
				code, stdout, stderr := run(c.start(t, n, append(args, outs...)...))
				if code != 0 || stdout != want || c.env == "" && stderr != "" {
					t.Errorf("%d ranks: exit code %d\n%s%s\none prints\n%s", n, code, stdout, stderr, want)
				}
				for _, name := range []string{"z.npy", "w.npy"} {
					one, err := os.ReadFile(at(name))
					if err != nil {
						t.Fatal(err)
					}
					if got, err := os.ReadFile(filepath.Join(to, name)); err != nil || !bytes.Equal(got, one) {
						t.Errorf("%d ranks: another %s: %v", n, name, err)
					}
				}
			}
		})
	}
}

// TestFileTooLarge: where one rank cannot write its part, the run ends with that message and no file is there, whole
// or in part.
func TestFileTooLarge(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash, whose ulimit says how large files may be")
	}
	dir := t.TempDir()
	f := file(t, fmt.Sprintf(`@io fn main() -> i32 = {
    let x: f32[300_000] sharded(0) = tabulate(300_000, |i| i as f32);
    print("begin");
    save_npy(%q, x);
    print("end");
    0
}
`, filepath.Join(dir, "x.npy")))
	c := command(t, []string{bash, "-c", `ulimit -f 600; exec "$@"`, "bash"}, "run", f, "--ranks", "3")
	start := time.Now() // the first rank writes less than 600 KiB, and the second more
	code, stdout, stderr := run(c)
	if took := time.Since(start); code != 3 || stdout != "begin\n" || took > hang ||
		strings.Count(stderr, "file too large") != 1 || !strings.Contains(stderr, "x.npy: file too large") ||
		!strings.Contains(stderr, "on rank 1 of 3") || !strings.Contains(stderr, "f.heal:4:5") {
		t.Errorf("exit code %d after %v\n%s%s", code, took, stdout, stderr)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("there is %v, %v", left, err)
	}
}
