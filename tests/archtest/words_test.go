package archtest

import (
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var showWords = flag.Bool("words", false, "list each riddling word")

// riddling are phrases that most readers have to read twice, with what says the same.
var riddling = []struct{ phrase, plain string }{
	{`\bis none\b`, "is not one / does not exist"},
	{`\bare none\b`, "do not exist"},
	{`\b(?:nobody|somebody|whoever)\b`, "name who: no caller, another process, the user"},
	{`\bstands? (?:in|at|beside|twice|there|here|alone|before|behind|on|as|once|first)\b`, "is in / is listed / comes before"},
	{`\b(?:tells?|told)\b`, "reports / says / returns / passes"},
	{`\b(?:anew|once more)\b`, "again / is rebuilt"},
	{`\bcomes? of\b`, "results from"},
	{`\bhas its say\b`, "is used"},
	{`\bof (?:any|its own) making\b`, "from any tool / that it made"},
	{`\b(?:lies|lie) (?:in|at|beside|below|above)\b`, "is in / is stored in"},
	{`\bmakes? (?:\w+ ){1,3}of (?:it|them|that)\b`, "converts it to"},
	{`\bas (?:it|they) (?:stands?|stood)\b`, "unchanged"},
	{`\bwhat (?:is|are) (?:around|beside|left) `, "name it"},
	{`\bgoes? by\b`, "follows / uses"},
	{`\bfit for\b`, "suitable for"},
	{`\bhands? (?:over|on) (?:what|who)\b`, "passes"},
	{`\b(?:thereof|therein|whereof|hence|thus|whence)\b`, "plain word"},
	{`\bin the making\b`, "being written"},
	{`\bmends?\b|\bmended\b`, "fixes, repairs"},
	{`\bspeaks? of\b`, "describes"},
	{`\bdear(?:er|est)?\b`, "expensive"},
	{`\bto say of\b`, "to report about"},
	{`\bbegun\b`, "started"},
	{`\bapart\b`, "separately"},
}

// fine are uses of these words that are plain.
var fine = regexp.MustCompile(`(?i)\b(?:tells?|told) apart\b|\bapart from\b`)

// riddles counts riddling words in what people read: documents, comments, texts in code.
func riddles(t *testing.T, each func(path string, line int, word, plain, text string)) int {
	t.Helper()
	phrases, all := make([]*regexp.Regexp, len(riddling)), make([]string, len(riddling))
	for i, r := range riddling {
		phrases[i], all[i] = regexp.MustCompile(`(?i)`+r.phrase), r.phrase
	}
	anyOf := regexp.MustCompile(`(?i)` + strings.Join(all, "|"))
	total := 0
	for path, text := range sources(t, ".go", ".py", ".md") {
		if path == "tests/archtest/words_test.go" || strings.HasPrefix(path, "THIRD_PARTY") {
			continue
		}
		for n, line := range strings.Split(text, "\n") {
			if !anyOf.MatchString(line) {
				continue
			}
			line = fine.ReplaceAllString(prose(path, line), "")
			for i, rx := range phrases {
				for _, word := range rx.FindAllString(line, -1) {
					total++
					if each != nil {
						each(path, n+1, word, riddling[i].plain, strings.TrimSpace(line))
					}
				}
			}
		}
	}
	return total
}

var literal = regexp.MustCompile("\"(?:[^\"\\\\\n]|\\\\.)*\"|`[^`\n]*`")

// prose is what people read of a line.
func prose(path, line string) string {
	if strings.HasSuffix(path, ".md") {
		return line
	}
	mark := "//"
	if strings.HasSuffix(path, ".py") {
		mark = "#"
	}
	parts := literal.FindAllString(line, -1)
	if _, comment, ok := strings.Cut(literal.ReplaceAllString(line, `""`), mark); ok {
		parts = append(parts, comment)
	}
	return strings.Join(parts, " ")
}

// TestWords lists each riddling word with -words. TestHouse has the ceiling of their number.
func TestWords(t *testing.T) {
	if !*showWords {
		t.Skip("lists words with -words")
	}
	var lines []string
	riddles(t, func(path string, line int, word, plain, text string) {
		lines = append(lines, fmt.Sprintf("%s:%d: %s (%s): %s", path, line, word, plain, text))
	})
	slices.Sort(lines)
	t.Log("\n" + strings.Join(lines, "\n"))
}
