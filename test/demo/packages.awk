# packages.awk: a Debian package list becomes two files to COPY.
#
#	awk -v package=FILE -v dependency=FILE -f packages.awk <Packages
#
# package:	name version section priority maintainer installed_size size arch
# dependency:	package kind clause alternative depends_on relation
#
# "Depends: a | b (>= 2), c" is clause 1 with alternatives 1 (a) and 2 (b, its
# relation ">= 2"), and clause 2.  A maintainer's address is left out.  Sizes
# are as in the list: installed in KiB, the package file in bytes.  A name that
# the list has twice counts once, the first time.

function escaped(text)
{
	gsub(/\\/, "\\\\", text)
	gsub(/\t/, " ", text)
	return text
}

function value(field)
{
	return field in stanza ? escaped(stanza[field]) : "\\N"
}

function trim(text)
{
	sub(/^ +/, "", text)
	sub(/ +$/, "", text)
	return text
}

function edges(kind, field,    clauses, alternatives, n, m, i, j, on, relation)
{
	if (!(field in stanza))
		return
	n = split(stanza[field], clauses, ",")
	for (i = 1; i <= n; i++)
	{
		m = split(clauses[i], alternatives, "|")
		for (j = 1; j <= m; j++)
		{
			on = trim(alternatives[j])
			relation = "\\N"
			if (match(on, /\(.*\)/))
				relation = escaped(substr(on, RSTART + 1, RLENGTH - 2))
			sub(/[ (\[<].*/, "", on)
			sub(/:.*/, "", on)
			if (on != "")
				print stanza["Package"], kind, i, j, escaped(on), relation >dependency
		}
	}
}

function finish(    maintainer)
{
	if (("Package" in stanza) && !(stanza["Package"] in seen))
	{
		seen[stanza["Package"]] = 1
		maintainer = value("Maintainer")
		sub(/ *<[^>]*>.*/, "", maintainer)
		gsub(/"/, "", maintainer)
		print value("Package"), value("Version"), value("Section"), value("Priority"),
			maintainer, value("Installed-Size"), value("Size"), value("Architecture") >package
		edges("depends", "Depends")
		edges("pre-depends", "Pre-Depends")
	}
	split("", stanza)
}

BEGIN { OFS = "\t"; printf "" >package; printf "" >dependency }

/^$/ { finish(); next }

/^(Package|Version|Section|Priority|Maintainer|Installed-Size|Size|Architecture|Depends|Pre-Depends): / {
	colon = index($0, ":")
	stanza[substr($0, 1, colon - 1)] = trim(substr($0, colon + 1))
}

END { finish() }
