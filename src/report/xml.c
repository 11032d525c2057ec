#include "report/xml.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

#include "base/banned.h"

void xml_add(struct str *b, const char *s, bool one_line)
{
	size_t n = strlen(s);

	for (size_t i = 0; i < n;) {
		uint32_t cp;
		size_t len = utf8_decode(s + i, n - i, &cp);

		if (!len || (cp < 0x20 && cp != '\n' && cp != '\t') || cp == 0xfffe || cp == 0xffff)
			str_add(b, "&#xfffd;");
		else if ((cp == '\n' || cp == '\t') && one_line)
			str_addc(b, ' ');
		else if (cp == '&')
			str_add(b, "&amp;");
		else if (cp == '<')
			str_add(b, "&lt;");
		else if (cp == '>')
			str_add(b, "&gt;");
		else if (cp == '"')
			str_add(b, "&quot;");
		else
			str_addn(b, s + i, len);
		i += len ? len : 1;
	}
}
