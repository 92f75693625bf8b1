"""Limits of the evaluation, licences, versions and the configuration."""

from __future__ import annotations

from hybrid.report.run.sections.section import Section

TEMPLATE = """\
{% if run.limits %}
<ul>
{% for limit in run.limits %}
<li>{{ limit|say }}</li>
{% endfor %}
</ul>
{% endif %}
{% for title, facts in [("This run", run.facts), ("Licences", run.licences), ("Versions", run.versions)] if facts %}
<h3>{{ title|say }}</h3>
<div class="scroll" tabindex="0"><table><tbody>
{% for name, value in facts.items() %}
<tr><th scope="row">{{ name|own }}</th><td>{{ value|own }}</td></tr>
{% endfor %}
</tbody></table></div>
{% endfor %}
{% if run.config %}
<h3>{{ _("Configuration as resolved") }}</h3>
<pre tabindex="0">{{ run.config }}</pre>
{% endif %}
<footer>{{ _("This file holds aggregates only. It needs no network and no script.") }}</footer>
"""


SECTION = Section(
    anchor="limits",
    title="Limits and sources",
    template=TEMPLATE,
)
