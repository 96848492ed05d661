// Package sample says which cases of a long sweep a suite runs. `make test` takes a part of them, another one every
// day, so that all have run after some days; `make test-long` takes all.
package sample

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

// Long is the environment variable that asks for all cases.
const Long = "HEAL_TEST_LONG"

// DayEnv is the environment variable that says the number of the day in place of today's, to repeat what failed.
const DayEnv = "HEAL_TEST_DAY"

// All reports whether all cases run.
func All() bool { return os.Getenv(Long) != "" }

// Day is the number of the day, in days since 1970.
func Day() int {
	text := os.Getenv(DayEnv)
	if text == "" {
		return int(time.Now().Unix() / 86400)
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		panic(fmt.Sprintf("%s=%s is no number of a day", DayEnv, text))
	}
	return n
}

// Today is Day, which a test that fails shows.
func Today(t testing.TB) int {
	t.Helper()
	day := Day()
	if !All() {
		t.Logf("%s=%d", DayEnv, day)
	}
	return day
}

// Part is one where all cases run, and else what it is given: how many parts a sweep has, one of which runs a day.
func Part(of int) int {
	if All() {
		return 1
	}
	return of
}

// Has reports whether case number i is in the part of a day.
func Has(day, i, of int) bool { return (i+day)%Part(of) == 0 }
