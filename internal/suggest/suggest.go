// Package suggest finds the word that a user meant.
package suggest

import "strings"

// Word names the candidate that a mistyped word resembles, or "".
func Word(word string, candidates []string) string {
	best, limit := "", max(len(word)/3, 1)+1
	for _, c := range candidates {
		d := Distance(strings.ToLower(word), strings.ToLower(c))
		if strings.HasPrefix(c, word) && len(word) >= 3 {
			d = min(d, 1)
		}
		if d < limit {
			best, limit = c, d
		}
	}
	return best
}

// Distance is the number of bytes to insert, delete or replace (Levenshtein).
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for k := range row {
		row[k] = k
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for k := range len(b) {
			cost := diag
			if a[i] != b[k] {
				cost++
			}
			diag = row[k+1]
			row[k+1] = min(cost, row[k]+1, row[k+1]+1)
		}
	}
	return row[len(b)]
}
