"""Writes the questions of every lab to `_build/quizzes`, for Moodle (its XML) and for Canvas (a zip of QTI 1.2).

A question with choices is chosen there too, a number has a tolerance of half its last place, and an open question is an
essay whose answer the grader sees. Formulas are TeX that the system draws.
"""

import hashlib
import html
import io
import re
import urllib.parse
import zipfile
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import endings
import identity
import notebooks
import quizzes
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

ROOT = Path(__file__).resolve().parents[1]
NUMBER = re.compile(r"-?(?:\d+|(?=\.))(?:\.(?P<places>\d+))?")
# The names that Canvas gives these files when it exports a quiz.
QTI = 'xmlns="http://www.imsglobal.org/xsd/ims_qtiasiv1p2"'
MANIFEST = 'xmlns="http://www.imsglobal.org/xsd/imsccv1p1/imscp_v1p1"'
SETTINGS = 'xmlns="http://canvas.instructure.com/xsd/cccv1p0"'
LEARNING = "associatedcontent/imscc_xmlv1p1/learning-application-resource"


def kind_of(quiz: quizzes.Quiz) -> str:
    """Return what Moodle calls this kind of question."""
    if quiz.choices:
        return "multichoice"
    if not quiz.accepted:
        return "essay"
    return "numerical" if all(map(NUMBER.fullmatch, quiz.accepted)) else "shortanswer"


def tolerance(number: str) -> float:
    """Return how far a typed number may be from an accepted one: half a unit of its last place."""
    return 0.5 * 10 ** -len(NUMBER.fullmatch(number)["places"] or "")


def to_html(markdown: str, formula: Callable[[str, bool], str], site: str) -> str:
    """Return a piece of a lab as HTML, escaped for XML. `formula(latex, display)` says how its formulas are written."""

    def drawn(latex: str, options: dict) -> str:
        return formula(re.sub(r"\\textcolor\{[^}]*\}", "", latex).strip(), options["display_mode"])

    def to_site(link: re.Match) -> str:
        return f"]({site}/{link[1] or 'labs'}/{link[2]}.html"

    renderer = MarkdownIt("commonmark").enable("table").use(dollarmath_plugin, renderer=drawn)
    linked = re.sub(r"\]\((?:\.\./(book)/)?(\w+)\.(?:ipynb|md)", to_site, markdown)
    return html.escape(renderer.render(linked).strip(), quote=False)


def to_file(xml: str) -> bytes:
    """Return an XML file, indented. Raises ParseError for what is no XML."""
    root = ElementTree.fromstring(xml)
    ElementTree.indent(root)
    for prefix_free in re.findall(r'(?<=xmlns=")[^"]+', xml):
        ElementTree.register_namespace("", prefix_free)
    return ElementTree.tostring(root, encoding="UTF-8", xml_declaration=True) + b"\n"


# Moodle: https://docs.moodle.org/en/Moodle_XML_format


def to_moodle(title: str, number: int, found: list[quizzes.Quiz], site: str) -> bytes:
    """Return the questions of a lab as a file for Moodle's question bank, in a category with the lab's title."""

    def formula(latex: str, display: bool) -> str:
        return html.escape(rf"\[{latex}\]" if display else rf"\({latex}\)")

    def said(markdown: str) -> str:
        return f"<text>{to_html(markdown, formula, site)}</text>"

    def question(quiz: quizzes.Quiz) -> str:
        kind = kind_of(quiz)
        answers = "".join(
            f'<answer fraction="{100 if place == quiz.right else 0}" format="html">{said(choice)}'
            f'<feedback format="html">{said(why)}</feedback></answer>'
            for place, (choice, why) in enumerate(quiz.choices)
        ) + "".join(
            f'<answer fraction="100" format="plain_text"><text>{html.escape(answer)}</text>'
            + (f"<tolerance>{tolerance(answer):g}</tolerance>" if kind == "numerical" else "")
            + "</answer>"
            for answer in quiz.accepted
        )
        settings = {
            "multichoice": "<single>true</single><shuffleanswers>true</shuffleanswers>"
            "<answernumbering>none</answernumbering>",
            "shortanswer": "<usecase>0</usecase>",
            "essay": f'<graderinfo format="html">{said(quiz.answer)}</graderinfo>',
        }
        return (
            f'<question type="{kind}"><name><text>Lab {number}, question {quiz.number}</text></name>'
            f'<questiontext format="html">{said(quiz.text)}</questiontext>'
            f'<generalfeedback format="html">{said(quiz.answer)}</generalfeedback>'
            f"<defaultgrade>1</defaultgrade>{settings.get(kind, '')}{answers}</question>"
        )

    category = f"$course$/top/Towards Self-Attention/{html.escape(title.replace('/', '//'))}"
    return to_file(
        f'<quiz><question type="category"><category><text>{category}</text></category></question>'
        f"{''.join(map(question, found))}</quiz>"
    )


# Canvas: QTI 1.2 (https://www.imsglobal.org/question/) with the fields of its classic quizzes


def to_canvas(title: str, number: int, found: list[quizzes.Quiz], site: str) -> bytes:
    """Return the questions of a lab as a zip that Canvas imports as one quiz, for practice."""
    # The same lab always has the same name, so that Canvas knows a quiz that it has.
    name = f"i{hashlib.sha256(f'towards-self-attention lab {number}'.encode()).hexdigest()[:32]}"
    kinds = {
        "multichoice": "multiple_choice_question",
        "shortanswer": "short_answer_question",
        "numerical": "numerical_question",
        "essay": "essay_question",
    }

    def formula(latex: str, _) -> str:
        words = html.escape(latex)
        return (
            f'<img class="equation_image" title="{words}" alt="LaTeX: {words}" data-equation-content="{words}" '
            f'src="/equation_images/{urllib.parse.quote(latex, safe="")}">'
        )

    def said(markdown: str) -> str:
        return f'<material><mattext texttype="text/html">{to_html(markdown, formula, site)}</mattext></material>'

    def fields(**given: object) -> str:
        entry = "<qtimetadatafield><fieldlabel>{}</fieldlabel><fieldentry>{}</fieldentry></qtimetadatafield>"
        return f"<qtimetadata>{''.join(entry.format(*pair) for pair in given.items())}</qtimetadata>"

    def test(what: str, value: object) -> str:
        return f'<{what} respident="response1">{html.escape(str(value))}</{what}>'

    def when(tests: str, then: str, go_on: str = "No") -> str:
        return f'<respcondition continue="{go_on}"><conditionvar>{tests}</conditionvar>{then}</respcondition>'

    def tell(feedback: str) -> str:
        return f'<displayfeedback feedbacktype="Response" linkrefid="{feedback}"/>'

    def near(answer: str) -> str:
        low, high = (f"{float(answer) + sign * tolerance(answer):g}" for sign in (-1, 1))
        return f"<or>{test('varequal', answer)}<and>{test('vargte', low)}{test('varlte', high)}</and></or>"

    def item(quiz: quizzes.Quiz) -> str:
        kind, own = kind_of(quiz), f"{name}_question_{quiz.number}"
        ids = [f"{own}_answer_{place}" for place in range(len(quiz.choices or quiz.accepted))]
        feedback = {f"{id}_fb": why for id, (_, why) in zip(ids, quiz.choices, strict=False)}
        conditions = [when(test("varequal", id), tell(f"{id}_fb"), "Yes") for id in ids if quiz.choices]
        if quiz.answer:
            feedback["general_fb"] = quiz.answer
            conditions.insert(0, when("<other/>", tell("general_fb"), "Yes"))
        right = '<setvar action="Set" varname="SCORE">100</setvar>'
        if kind == "multichoice":
            labels = [
                f'<response_label ident="{id}">{said(choice)}</response_label>'
                for id, (choice, _) in zip(ids, quiz.choices, strict=True)
            ]
            asked = f'<response_lid ident="response1" rcardinality="Single"><render_choice>{"".join(labels)}'
            asked += "</render_choice></response_lid>"
            conditions.append(when(test("varequal", ids[quiz.right]), right))
        else:
            # Canvas's New Quizzes know a number by this mark alone.
            decimal = ' fibtype="Decimal"' if kind == "numerical" else ""
            asked = f'<response_str ident="response1" rcardinality="Single"><render_fib{decimal}>'
            asked += '<response_label ident="answer1" rshuffle="No"/></render_fib></response_str>'
        if kind == "numerical":
            conditions += [when(near(answer), right) for answer in quiz.accepted]
        elif kind == "shortanswer":
            conditions.append(when("".join(test("varequal", answer) for answer in quiz.accepted), right))
        elif kind == "essay":
            conditions.append(when("<other/>", ""))
        about = fields(
            question_type=kinds[kind],
            points_possible=1,
            original_answer_ids=",".join(ids),
            assessment_question_identifierref=f"{own}_ref",
        )
        told = "".join(
            f'<itemfeedback ident="{id}"><flow_mat>{said(text)}</flow_mat></itemfeedback>'
            for id, text in feedback.items()
        )
        return (
            f'<item ident="{own}" title="Lab {number}, question {quiz.number}"><itemmetadata>{about}</itemmetadata>'
            f"<presentation>{said(quiz.text)}{asked}</presentation><resprocessing><outcomes>"
            '<decvar maxvalue="100" minvalue="0" varname="SCORE" vartype="Decimal"/></outcomes>'
            f"{''.join(conditions)}</resprocessing>{told}</item>"
        )

    title = html.escape(title)
    files = {
        "imsmanifest.xml": f'<manifest identifier="{name}_manifest" {MANIFEST}><metadata><schema>IMS Content</schema>'
        "<schemaversion>1.1.3</schemaversion></metadata><organizations/><resources>"
        f'<resource identifier="{name}" type="imsqti_xmlv1p2"><file href="{name}/{name}.xml"/>'
        f'<dependency identifierref="{name}_meta"/></resource>'
        f'<resource identifier="{name}_meta" type="{LEARNING}" href="{name}/assessment_meta.xml">'
        f'<file href="{name}/assessment_meta.xml"/></resource></resources></manifest>',
        f"{name}/{name}.xml": f'<questestinterop {QTI}><assessment ident="{name}" title="{title}">'
        f'{fields(cc_maxattempts="unlimited")}<section ident="root_section">{"".join(map(item, found))}</section>'
        "</assessment></questestinterop>",
        f"{name}/assessment_meta.xml": f'<quiz identifier="{name}" {SETTINGS}><title>{title}</title>'
        "<shuffle_answers>true</shuffle_answers><quiz_type>practice_quiz</quiz_type>"
        f"<points_possible>{len(found)}</points_possible><allowed_attempts>-1</allowed_attempts></quiz>",
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as target:
        for path, xml in files.items():  # with no date, so that the same questions make the same file
            target.writestr(zipfile.ZipInfo(path), to_file(xml), zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def main(root: Path) -> int:
    """Write the questions of every lab and return the exit status."""
    folder, made = root / "_build/quizzes", {}
    try:
        site = identity.read(root)["site"]
        for lab in notebooks.labs(root):
            found, number = quizzes.quizzes(lab), int(lab.name[:2])
            title = f"{number:02}. {notebooks.generate(lab).cells[0].source.lstrip('# ')}"
            made[f"{lab.stem}.moodle.xml"] = to_moodle(title, number, found, site)
            made[f"{lab.stem}.canvas.zip"] = to_canvas(title, number, found, site)
    except ValueError as error:
        print(error)
        return 1
    for name, content in made.items():
        endings.replace(folder / name, content)
    print(f"The questions of {len(made) // 2} labs are in {folder.relative_to(root)}, each for Moodle and for Canvas.")
    return 0


if __name__ == "__main__":
    endings.run(main, ROOT)
