// Package validate checks arguments; every error names the field and the valid values.
package validate

import (
	"encoding/hex"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"hopwise/proto/stubs/typev1"
	"hopwise/services/internal/shoperr"
)

const maxIdentifiers = 1000

// currencies are the ISO 4217 codes of currencies for payments, as in services/shop/money.py.
var currencies = strings.Fields(`
	AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY
	COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR
	ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK
	MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF
	SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU
	UZS VED VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
`)

// Between checks that a number lies in a range, both ends included.
func Between(value int64, field string, least, most int64) error {
	if value < least || value > most {
		return shoperr.Invalid(field, "%s is %d; it must be from %d to %d", field, value, least, most)
	}
	return nil
}

// Identifier checks that an identifier is at least 1.
func Identifier(value int64, field string) error {
	return Between(value, field, 1, math.MaxInt64)
}

// Identifiers returns 1 to 1000 identifiers without repetitions, in their order.
func Identifiers(values []int64, field string) ([]int64, error) {
	if len(values) < 1 || len(values) > maxIdentifiers {
		return nil, shoperr.Invalid(field, "%s has %d entries; it must have 1 to %d", field, len(values), maxIdentifiers)
	}
	seen := make(map[int64]struct{}, len(values))
	unique := make([]int64, 0, len(values))
	for index, value := range values {
		if err := Identifier(value, fmt.Sprintf("%s[%d]", field, index)); err != nil {
			return nil, err
		}
		if _, again := seen[value]; !again {
			seen[value] = struct{}{}
			unique = append(unique, value)
		}
	}
	return unique, nil
}

// Size returns the number of items to return: 1 to most, or the default if the caller sent 0.
func Size(value int32, field string, fallback, most int) (int, error) {
	if value == 0 {
		return fallback, nil
	}
	if value < 1 || int(value) > most {
		return 0, shoperr.Invalid(field, "%s is %d; it must be from 1 to %d, or 0 for %d", field, value, most, fallback)
	}
	return int(value), nil
}

// Text checks the length of a text in characters, and that PostgreSQL can store it.
func Text(value, field string, least, most int) error {
	if length := utf8.RuneCountInString(value); length < least || length > most {
		return shoperr.Invalid(field, "%s has %d characters; it must have %d to %d", field, length, least, most)
	}
	if strings.ContainsRune(value, 0) {
		return shoperr.Invalid(field, "%s contains an invalid character: NUL or a lone surrogate", field)
	}
	return nil
}

// Matching checks that a text matches a pattern, which form describes for people.
func Matching(value, field string, pattern *regexp.Regexp, form string) error {
	if !pattern.MatchString(value) {
		return shoperr.Invalid(field, "%s must be %s", field, form)
	}
	return nil
}

// UUID returns a UUID in its usual form: lower case, with hyphens.
func UUID(value, field string) (string, error) {
	raw, err := hex.DecodeString(strings.ReplaceAll(value, "-", ""))
	if err != nil || len(value) != 36 || len(raw) != 16 {
		return "", shoperr.Invalid(field, "%s must be a UUID, as 01234567-89ab-cdef-0123-456789abcdef", field)
	}
	return fmt.Sprintf("%x-%x-%x-%x-%x", raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:]), nil
}

// PositiveMoney checks that an amount is from 1 to most minor units, and that its currency has an ISO 4217 code.
func PositiveMoney(value *typev1.Money, field string, most int64) error {
	if err := Between(value.GetAmountMinor(), field+".amount_minor", 1, most); err != nil {
		return err
	}
	if _, isKnown := slices.BinarySearch(currencies, value.GetCurrency()); !isKnown {
		return shoperr.Invalid(field+".currency", "%s.currency must be an ISO 4217 code in capitals, as EUR", field)
	}
	return nil
}

// Distinct checks that a list has no repetitions; field names the entry at an index.
func Distinct(values []int64, field func(int) string) error {
	seen := make(map[int64]struct{}, len(values))
	for index, value := range values {
		if _, again := seen[value]; again {
			return shoperr.Invalid(field(index), "%s is %d, which is in the list already", field(index), value)
		}
		seen[value] = struct{}{}
	}
	return nil
}
