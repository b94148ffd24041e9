package cf

import (
	"strconv"
	"strings"
)

// calendar counts days.
type calendar struct {
	name string // in attributes, "" for the one in use
	// days from the first of January 1970 of the calendar; false if there is no such date.
	days func(y, m, d int64) (int64, bool)
}

// The calendars of the conventions.
var (
	standard  = &calendar{"", mixedDays}
	proleptic = &calendar{"", gregorianDays}
	julian    = &calendar{"julian", func(y, m, d int64) (int64, bool) {
		n, ok := julianDays(y, m, d)
		return n - 13, ok // its 1970 begins 13 days later
	}}
	noLeap  = &calendar{"noleap", sameYears(31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)}
	allLeap = &calendar{"all_leap", sameYears(31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)}
	days360 = &calendar{"360_day", sameYears(30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30)}
)

var calendars = map[string]*calendar{
	"": standard, "standard": standard, "gregorian": standard, "proleptic_gregorian": proleptic, "julian": julian,
	"noleap": noLeap, "365_day": noLeap, "all_leap": allLeap, "366_day": allLeap, "360_day": days360,
}

// sameYears counts in a calendar whose years are all alike.
func sameYears(months ...int64) func(y, m, d int64) (int64, bool) {
	return func(y, m, d int64) (int64, bool) {
		n := int64(0)
		for i, days := range months {
			n += days * (y - 1970)
			if int64(i) < m-1 {
				n += days
			}
		}
		return n + d - 1, d <= months[m-1]
	}
}

// monthDays is how long a month is.
func monthDays(m int64, leap bool) int64 {
	switch {
	case m == 2 && leap:
		return 29
	case m == 2:
		return 28
	case m == 4 || m == 6 || m == 9 || m == 11:
		return 30
	}
	return 31
}

func divisible(y, n int64) bool { return y%n == 0 }

// marchDays is the days of years that begin in March before a date, by the rule of four.
func marchDays(y, m, d int64) (days, year int64) {
	if m <= 2 {
		y, m = y-1, m+12
	}
	return 365*y + floorDiv(y, 4) + (153*(m-3)+2)/5 + d - 1, y
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func gregorianDays(y, m, d int64) (int64, bool) {
	n, year := marchDays(y, m, d)
	n += floorDiv(year, 400) - floorDiv(year, 100)
	return n - 719468, d <= monthDays(m, divisible(y, 4) && (!divisible(y, 100) || divisible(y, 400)))
}

// julianDays counts as gregorianDays does, dates being those of the Julian calendar. It
// has no year 0, and what comes before 1 is counted in two ways.
func julianDays(y, m, d int64) (int64, bool) {
	n, _ := marchDays(y, m, d)
	return n - 719470, y > 0 && d <= monthDays(m, divisible(y, 4))
}

// mixedDays: 1582-10-15 follows 1582-10-04.
func mixedDays(y, m, d int64) (int64, bool) {
	date := 10000*y + 100*m + d
	switch {
	case date >= 15821015:
		return gregorianDays(y, m, d)
	case date > 15821004:
		return 0, false
	}
	return julianDays(y, m, d)
}

// parseDate reads Y-M-D, with one digit or more each, then a time h:m:s.f of which all
// may be missing, behind a blank or a T, then a zone: Z, UTC, +02:00, -6:00. A zone's
// hours are subtracted.
func parseDate(s string, c *calendar) (moment, bool) {
	p := &dateParser{s: strings.TrimSpace(s)}
	y := p.signed()
	p.want('-')
	m := p.number()
	p.want('-')
	d := p.number()
	if p.bad || m < 1 || m > 12 || d < 1 {
		return moment{}, false
	}
	days, ok := c.days(y, m, d)
	if !ok {
		return moment{}, false
	}
	sec, ns := p.clock()
	sec -= p.zone()
	if p.bad || p.s != "" {
		return moment{}, false
	}
	return moment{days*86400 + sec, ns}, true
}

// parsePeriod reads a date of which all behind the year may be missing, and gives where it
// begins and where the next one does.
func parsePeriod(text string, c *calendar) (from, to moment, ok bool) {
	p := &dateParser{s: strings.ToLower(strings.TrimSpace(text))}
	date := [3]int64{p.signed(), 1, 1}
	given := 1
	for ; given < 3 && p.accept("-"); given++ {
		date[given] = p.number()
	}
	y, m, d := date[0], date[1], date[2]
	if p.bad || m < 1 || m > 12 || d < 1 {
		return from, to, false
	}
	day := func(y, m, d int64) moment {
		n, exists := c.days(y, m, d)
		ok = exists
		return moment{86400 * n, 0}
	}
	from = day(y, m, d)
	if !ok {
		return from, to, false
	}
	switch {
	case given == 1:
		to = day(y+1, 1, 1)
	case given == 2 && m == 12:
		to = day(y+1, 1, 1)
	case given == 2:
		to = day(y, m+1, 1)
	default:
		length := int64(86400)
		rest := p.s
		sec, ns := p.clock()
		if p.s == "z" {
			p.s = ""
		}
		switch colons := strings.Count(rest, ":"); {
		case strings.Trim(rest, " z") == "":
		case strings.Contains(rest, "."):
			length = 0
		case colons == 0:
			length = 3600
		case colons == 1:
			length = 60
		default:
			length = 1
		}
		if from.sec, from.ns = from.sec+sec, ns; length == 0 {
			to = from.plus(0, 1)
		} else {
			to = from.plus(length, 0)
		}
	}
	return from, to, ok && !p.bad && p.s == ""
}

type dateParser struct {
	s   string
	bad bool
}

func (p *dateParser) accept(c string) bool {
	if p.s != "" && strings.Contains(c, p.s[:1]) {
		p.s = p.s[1:]
		return true
	}
	return false
}

func (p *dateParser) want(c byte) { p.bad = !p.accept(string(c)) || p.bad }

// number reads up to four digits.
func (p *dateParser) number() int64 {
	n := 0
	for n < len(p.s) && n < 5 && p.s[n] >= '0' && p.s[n] <= '9' {
		n++
	}
	v, err := strconv.ParseInt(p.s[:n], 10, 64)
	p.bad = p.bad || err != nil || n > 4
	p.s = p.s[n:]
	return v
}

func (p *dateParser) signed() int64 {
	if p.accept("-") {
		return -p.number()
	}
	p.accept("+")
	return p.number()
}

// clock reads the time of the day.
func (p *dateParser) clock() (sec, ns int64) {
	had := p.accept("t")
	p.s = strings.TrimLeft(p.s, " ")
	if p.s == "" || p.s[0] < '0' || p.s[0] > '9' {
		p.bad = p.bad || had
		return 0, 0
	}
	h, m, s := p.number(), int64(0), int64(0)
	if p.accept(":") {
		m = p.number()
	}
	if p.accept(":") {
		s = p.number()
		if p.accept(".") {
			ns = p.fraction()
		}
	}
	p.bad = p.bad || h > 24 || m > 59 || s > 59
	return 3600*h + 60*m + s, ns
}

// fraction reads digits behind a point, as nanoseconds.
func (p *dateParser) fraction() (ns int64) {
	for unit := int64(1e8); p.s != "" && p.s[0] >= '0' && p.s[0] <= '9'; unit /= 10 {
		ns += unit * int64(p.s[0]-'0')
		p.s = p.s[1:]
	}
	return ns
}

// zone reads what is east of Greenwich, in seconds.
func (p *dateParser) zone() int64 {
	p.s = strings.TrimLeft(p.s, " ")
	switch {
	case p.s == "z" || p.s == "utc" || p.s == "gmt":
		p.s = ""
		return 0
	case p.s == "":
		return 0
	}
	sign := int64(1)
	if p.accept("-") {
		sign = -1
	} else if !p.accept("+") {
		p.bad = true
	}
	digits := len(p.s) - len(strings.TrimLeft(p.s, "0123456789"))
	h, m := p.number(), int64(0)
	if digits > 2 { // 0530
		h, m = h/100, h%100
	}
	if p.accept(":") {
		m = p.number()
	}
	p.bad = p.bad || h > 24 || m > 59
	return sign * (3600*h + 60*m)
}
