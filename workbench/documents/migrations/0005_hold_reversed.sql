DROP TRIGGER documents_line_words_held ON documents_line; DROP TRIGGER documents_line_held ON documents_line;
DROP TRIGGER documents_page_words_held ON documents_page; DROP TRIGGER documents_page_held ON documents_page;
DROP TRIGGER documents_passage_words_held ON documents_passage; DROP TRIGGER documents_passage_held ON documents_passage;
DROP TRIGGER documents_section_words_held ON documents_section; DROP TRIGGER documents_section_held ON documents_section;
DROP TRIGGER document_held ON documents_document;
DROP FUNCTION documents_keep_held_words();
DROP FUNCTION documents_keep_held_text();
DROP FUNCTION documents_keep_held_document();
DROP FUNCTION documents_refuse_under_hold(text);
