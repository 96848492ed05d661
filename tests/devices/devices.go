// Package devices says for which processors the suites of tests make code, and how they run on a device.
//
// By default that is the simulator, which is slow, so each suite takes a sample of its cases, another one every day
// where the cases are always the same. With HEAL_TEST_DEVICE=ptxsim it takes all of them (make test-ptx), and with
// HEAL_TEST_DEVICE=gpu they run on a GPU (make test-gpu).
package devices

import (
	"os"
	"testing"

	heal "healc"
	"healc/codegen/llvm/libllvm"
	"healc/tests/sample"
)

// Env is the environment variable that names the backend on which all cases run.
const Env = "HEAL_TEST_DEVICE"

// Backend is the backend of the device.
func Backend() string {
	if b := os.Getenv(Env); b != "" {
		return b
	}
	return heal.PTXSim
}

// All reports whether all cases run on the device.
func All() bool { return os.Getenv(Env) != "" || sample.All() }

// Takes reports whether case number i of a suite runs on the device: one of so many, all of them with All, none with
// -short or without libLLVM. A suite whose cases are always the same adds the day.
func Takes(i, of int) bool {
	if _, err := libllvm.Open(); err != nil {
		return false
	}
	return All() || !testing.Short() && i%of == 0
}
