// What scripts say, in the language of the page. English is in the code; a page in another language has its catalogue
// in it (sessions_app/views/script_words.py): no request for it, and nothing for who reads English.

const put = document.getElementById("script-words");
const { catalogue = {}, plural = "" } = put ? JSON.parse(put.textContent) : {};
const LANGUAGE = document.documentElement.lang || "en";
const numbers = new Intl.NumberFormat("en"); // as the server writes them: 1,204 must not stand beside 1.204

const filled = (message, values) => message.replace(/%\((\w+)\)s/g, (_, name) => values[name]);

// gettext("%(count)s new", { count }): a message with its values.
export const gettext = (message, values = {}) => filled(catalogue[message] ?? message, values);

// Of one and of many; "plural" has the form of each number up to 199, which every rule of gettext repeats by the hundred.
export function ngettext(one, many, number, values = {}) {
  const forms = catalogue[one];
  if (!forms) return filled(number === 1 ? one : many, values);
  return filled(forms[Number(plural[number < 200 ? number : 100 + (number % 100)])] || many, values);
}

export const counted = (number) => numbers.format(number);
export const dateOf = (at, parts) => new Date(at).toLocaleDateString(LANGUAGE === "en" ? "en-GB" : LANGUAGE, { ...parts, timeZone: "UTC" });
