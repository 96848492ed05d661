package sample

import "testing"

// TestHas: each case runs once in as many days as there are parts, and every day with HEAL_TEST_LONG.
func TestHas(t *testing.T) {
	const of = 7
	for i := range 20 {
		n, all := 0, 0
		for day := Day(); day < Day()+of; day++ {
			t.Setenv(Long, "")
			if Has(day, i, of) {
				n++
			}
			t.Setenv(Long, "1")
			if Has(day, i, of) {
				all++
			}
		}
		if n != 1 || all != of {
			t.Errorf("case %d runs %d times, and %d times with %s", i, n, all, Long)
		}
	}
	t.Setenv(DayEnv, "12")
	if Day() != 12 {
		t.Errorf("%s=12 is day %d", DayEnv, Day())
	}
}
