package devices

import (
	"hash/fnv"
	"os"
	"strings"
	"testing"

	"healc/codegen/llvm/libllvm"
	"healc/internal/testhook"
	"healc/tests/emulated"
	"healc/tests/sample"
)

// ProcessorsEnv is the environment variable that names processors, with commas between them, for which the suites make
// code in place of those that this machine has.
const ProcessorsEnv = "HEAL_TEST_PROCESSORS"

// named are the processors of ProcessorsEnv.
func named() []string {
	return strings.FieldsFunc(os.Getenv(ProcessorsEnv), func(r rune) bool { return r == ',' })
}

// InTurn is cpu, or where ProcessorsEnv names some the one whose turn is number i.
func InTurn(i int, cpu string) string {
	if names := named(); len(names) > 0 {
		return names[i%len(names)]
	}
	return cpu
}

// Targets are this machine itself, which is "", and Processors; those of ProcessorsEnv alone where it names some.
func Targets(t *testing.T) []string {
	if names := named(); len(names) > 0 {
		return names
	}
	return append([]string{""}, Processors(t)...)
}

// Processors are the targets whose code this machine can run; without libLLVM the test is skipped. There are as many on
// every machine with AVX2: where it has no AVX-512, the plainest one takes turns with what is generated for AVX-512
// (Split). Whose turn it is depends on the test and on the day.
func Processors(t *testing.T) []string {
	if names := named(); len(names) > 0 {
		return names
	}
	has := host(t)
	plain := append([]string{"generic"}, Split(t)...)
	h := fnv.New32()
	_, _ = h.Write([]byte(t.Name())) // it never fails
	out := []string{plain[(int(h.Sum32())+sample.Day())%len(plain)]}
	for _, cpu := range []string{avx2, avx512} {
		if has[cpu] {
			out = append(out, cpu)
		}
	}
	return out
}

const avx2, avx512 = "x86-64-v3", "x86-64-v4"

// Split are processors with AVX-512 of which this machine runs what is generated for them, of the instructions that it
// has: without multiply-adds of 52 bits, with them, and with quick products of 64 (Note [Emulated vectors] in
// codegen/llvm). There are none where it has AVX-512 itself.
func Split(t *testing.T) (cpus []string) {
	if has := host(t); has[avx2] && !has[avx512] {
		for _, cpu := range emulated.PCProcessors {
			cpus = append(cpus, cpu+"/"+avx2)
		}
	}
	return cpus
}

// host says which of avx2 and avx512 this machine is.
func host(t *testing.T) map[string]bool {
	lib, err := libllvm.Open()
	if err != nil {
		t.Skip(err)
	}
	_, features := lib.HostCPU()
	out := map[string]bool{}
	for cpu, needs := range map[string]string{avx2: "avx2 fma bmi2",
		avx512: "avx512f avx512bw avx512vl avx512dq avx512cd"} {
		out[cpu] = true
		for _, f := range strings.Fields(needs) {
			out[cpu] = out[cpu] && strings.Contains(","+features+",", ",+"+f+",")
		}
	}
	return out
}

func init() {
	if os.Getenv(emulated.Folder) != "" {
		testhook.Processor = emulated.PCFor
	}
}
